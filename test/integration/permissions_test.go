package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// readPods is what the operators of these tests ask for.
var readPods = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}}

func asking(c *operatorsv1alpha1.ClusterServiceVersion, rules ...rbacv1.PolicyRule) *operatorsv1alpha1.ClusterServiceVersion {
	c.Spec.InstallStrategy.StrategySpec.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: "account", Rules: rules}}
	return c
}

func askingTheCluster(c *operatorsv1alpha1.ClusterServiceVersion, rules ...rbacv1.PolicyRule) *operatorsv1alpha1.ClusterServiceVersion {
	c.Spec.InstallStrategy.StrategySpec.ClusterPermissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: "account", Rules: rules}}
	return c
}

// The ClusterServiceVersion waits for the permissions that the installing client grants, reports what is missing,
// continues when they exist, and reports when they are removed.
func TestPermissionsOfAnOperator(t *testing.T) {
	const readPodsRule = ` rule:{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}`
	const namespaced = "namespaced" + readPodsRule
	for name, test := range map[string]struct {
		csv     func(*operatorsv1alpha1.ClusterServiceVersion, ...rbacv1.PolicyRule) *operatorsv1alpha1.ClusterServiceVersion
		targets func(own, other string) []string
		inVain  func(e *env) // granted before, which does not suffice
		grant   func(e *env, other string) func()
		message string
		rule    string // as OLM v0 writes it
	}{
		"in its namespace, by a Role": {
			asking, func(own, _ string) []string { return []string{own} }, nil,
			func(e *env, _ string) func() { return bindRoleIn(e, e.namespace, "reader") },
			"it may not get, list pods in namespace", namespaced,
		},
		"in its namespace, by a ClusterRole for all": {
			asking, func(own, _ string) []string { return []string{own} }, nil,
			func(e *env, _ string) func() { return bindClusterRole(e) },
			"it may not get, list pods in namespace", namespaced,
		},
		"in its namespace and the target": {
			asking, func(_, other string) []string { return []string{other} }, nil,
			func(e *env, other string) func() {
				bindRoleIn(e, e.namespace, "reader")
				return bindRoleIn(e, other, "reader")
			},
			"it may not get, list pods in namespace", namespaced,
		},
		"in all namespaces": {
			asking, func(string, string) []string { return nil }, func(e *env) { bindRoleIn(e, e.namespace, "reader") },
			func(e *env, _ string) func() { return bindClusterRole(e) },
			"bind a ClusterRole with the rules of spec.install.spec.permissions of account account to it with a ClusterRoleBinding", namespaced,
		},
		"in the whole cluster": {
			askingTheCluster, func(own, _ string) []string { return []string{own} }, nil,
			func(e *env, _ string) func() { return bindClusterRole(e) },
			"it may not get, list pods in the whole cluster", "cluster" + readPodsRule,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			other := newNamespace(e, "", nil)
			e.group("og", operatorsv1.OperatorGroupSpec{TargetNamespaces: test.targets(e.namespace, other)})
			serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
			e.runDeployments()
			m := e.manage()
			e.create(test.csv(csv("operator.v1", "server"), readPods))
			e.isUnmet(test.message)
			account := kube.Get(e, e.kube.CoreV1().ServiceAccounts(e.namespace), "account")
			requires(e, operatorsv1alpha1.RequirementStatus{
				Version: "v1", Kind: "ServiceAccount", Name: "account", Status: operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied,
				UUID: string(account.UID),
			})
			dependsOn(e, test.rule, operatorsv1alpha1.DependentStatusReasonNotSatisfied)
			if test.inVain != nil {
				m.looksAfter(func() { test.inVain(e) })
				m.looksAgain("operator.v1")
				same(t, "phase", e.get("operator.v1").Status.Phase, operatorsv1alpha1.CSVPhasePending)
				installtest.Contains(t, csvstatus.Explained(e.get("operator.v1").Status), test.message)
				dependsOn(e, test.rule, operatorsv1alpha1.DependentStatusReasonNotSatisfied)
			}
			revoke := test.grant(e, other)
			e.succeeds("operator.v1")
			dependsOn(e, test.rule, operatorsv1alpha1.DependentStatusReasonSatisfied)
			revoke()
			e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
			if e.deployment("server") == nil || len(registered(e)) != 1 {
				t.Error("what was installed no longer exists")
			}
			conditions := e.get("operator.v1").Status.Conditions
			if lost := conditions[len(conditions)-2]; lost.Phase != operatorsv1alpha1.CSVPhaseFailed || lost.Message != "requirements no longer met" {
				t.Errorf("the condition before is %+v, want Failed: requirements no longer met", lost)
			}
		})
	}
}

// dependsOn checks the message of the only rule that the only account needs.
func dependsOn(e *env, rule string, status operatorsv1alpha1.StatusReason) {
	e.Helper()
	same(e, "dependents", e.get("operator.v1").Status.RequirementStatus[0].Dependents, []operatorsv1alpha1.DependentStatus{
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "PolicyRule", Status: status, Message: rule},
	})
}

func bindRoleIn(e *env, namespace, name string) (revoke func()) {
	e.Helper()
	meta := metav1.ObjectMeta{Name: name}
	kube.Create(e, e.kube.RbacV1().Roles(namespace), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{readPods}})
	kube.Create(e, e.kube.RbacV1().RoleBindings(namespace), &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: accountAsSubject(e), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
	})
	return func() {
		e.must(e.kube.RbacV1().RoleBindings(namespace).Delete(e.ctx, meta.Name, metav1.DeleteOptions{}))
	}
}

func bindClusterRole(e *env) (revoke func()) {
	e.Helper()
	meta := metav1.ObjectMeta{Name: e.namespace + "-reader"}
	roles, bindings := e.kube.RbacV1().ClusterRoles(), e.kube.RbacV1().ClusterRoleBindings()
	kube.Create(e, bindings, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: accountAsSubject(e), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	})
	kube.Create(e, roles, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{readPods}})
	return func() { e.must(roles.Delete(e.ctx, meta.Name, metav1.DeleteOptions{})) }
}

func accountAsSubject(e *env) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: "account"}}
}
