package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func withOLM(o *controller.Options) { o.LiftRoles, o.WithOLM = true, true }

// In place of olm-operator, the manager lifts only Roles that an approved InstallPlan lists. They stay lifted when
// catalog-operator deletes the InstallPlan.
func TestLiftOnlyWhatAnInstallPlanLists(t *testing.T) {
	e := newOperatorEnv(t)
	defineInstallPlans(e)
	operator := asking(csv(e.namespace+".v1", "server"), readPods) // the names of lifted objects depend on its name
	role := permissions.PlannedRole(operator.Name, operator.Spec.InstallStrategy.StrategySpec.Permissions[0])
	for _, account := range []string{"account", "tenant"} {
		serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named(account)})
	}
	granted := grantedTo(e, "manager/clusterrole.yaml", "lift-roles/clusterrole.yaml", "with-olm/clusterrole.yaml")
	m := manageThrough(e, granted, withOLM)
	bindRoleIn(e, e.namespace, role)
	e.create(operator)
	e.reachesSaying(operator.Name, operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet,
		"Role "+role+" is not lifted, because no InstallPlan lists it: install the operator by a Subscription")
	plan(e, operator.Name, map[string]operatorsv1alpha1.StepStatus{"Role " + role: operatorsv1alpha1.StepStatusCreated})
	m.looksAgain(operator.Name)
	expect(t, lifted(e)) // it is not approved

	plans := e.olm.InstallPlans(e.namespace)
	kube.Patch(e, plans, "install-"+operator.Name, types.MergePatchType, []byte(`{"spec": {"approved": true}}`))
	e.succeeds(operator.Name)
	both := []string{"ClusterRole /" + role, "ClusterRoleBinding /" + role}
	expect(t, lifted(e), both...)
	m.settles(operator.Name)

	e.must(plans.Delete(e.ctx, "install-"+operator.Name, metav1.DeleteOptions{}))
	m.looksAgain(operator.Name)
	expect(t, lifted(e), both...)
	bindings := e.kube.RbacV1().ClusterRoleBindings()
	e.must(bindings.Delete(e.ctx, role, metav1.DeleteOptions{}))
	becomes(e, "the lifted binding is restored", func() []string { return lifted(e) }, both)
	kube.Patch(e, e.kube.RbacV1().ClusterRoles(), role, types.MergePatchType, []byte(`{"rules": []}`))
	e.eventually("the lifted rules are restored", func() (bool, any) {
		live := kube.Get(e, e.kube.RbacV1().ClusterRoles(), role)
		return len(live.Rules) > 0, live.Rules
	})
	e.succeeds(operator.Name)

	joinsOperator(e, operator.Name, role, "tenant")
	e.reachesSaying(operator.Name, operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "Role "+role+" is not lifted")
	same(t, "the subjects of the lifted binding", kube.Get(e, bindings, role).Subjects, accountAsSubject(e))

	m.stop()
	next := manageThrough(e, granted, withOLM)
	next.looksAgain(operator.Name)
	next.writesNothing(next.started)
	e.uninstall(operator.Name)
	expect(t, lifted(e))
	noneIsForbidden(e, append(m.audited(m.started), next.audited(next.started)...))
}

// joinsOperator has a tenant that may write ClusterServiceVersions and RoleBindings request what the operator was granted.
func joinsOperator(e *env, operator, role, account string) {
	e.Helper()
	bindings := e.kube.RbacV1().RoleBindings(e.namespace)
	binding := kube.Get(e, bindings, role)
	binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: account})
	kube.Update(e, bindings, binding)
	e.edit(operator, func(c *operatorsv1alpha1.ClusterServiceVersion) {
		strategy := &c.Spec.InstallStrategy.StrategySpec
		strategy.Permissions = append(strategy.Permissions, operatorsv1alpha1.StrategyDeploymentPermissions{ServiceAccountName: account, Rules: strategy.Permissions[0].Rules})
	})
}

// An upgrade waits until its own Role is lifted: what the InstallPlan of the previous version granted ends with that
// version. If no InstallPlan ever lists the Role, because its Subscription was deleted, the previous version continues.
func TestUpgradeWaitsForItsInstallPlan(t *testing.T) {
	e := newOperatorEnv(t)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
	m := manageThrough(e, grantedTo(e, "manager/clusterrole.yaml", "lift-roles/clusterrole.yaml", "with-olm/clusterrole.yaml"), withOLM)
	v1 := asking(csv(e.namespace+".v1", "server"), readPods)
	v2 := replacing(v1.Name, asking(csv(e.namespace+".v2", "server"), readPods))
	roles := map[string]string{}
	for _, version := range []*operatorsv1alpha1.ClusterServiceVersion{v1, v2} {
		role := permissions.PlannedRole(version.Name, version.Spec.InstallStrategy.StrategySpec.Permissions[0])
		roles[version.Name] = role
		e.create(version)
		bindRoleIn(e, e.namespace, role)
		givenTo(e, e.get(version.Name), role)
		if version == v1 {
			approvedPlan(e, v1.Name, role)
			e.succeeds(v1.Name)
		}
	}
	e.eventually("the upgrade waits", func() (bool, any) {
		status := e.get(v2.Name).Status
		return status.Phase == operatorsv1alpha1.CSVPhasePending && strings.Contains(csvstatus.Explained(status), "Role "+roles[v2.Name]+" is not lifted"), status
	})
	m.settles(v2.Name)
	expect(t, lifted(e), "ClusterRole /"+roles[v1.Name], "ClusterRoleBinding /"+roles[v1.Name])

	approvedPlan(e, v2.Name, roles[v2.Name])
	e.succeeds(v2.Name)
	noLongerExist(e, v1.Name)
	disappearsWithItsOwner(e, roles[v1.Name])
	becomes(e, "what is lifted", func() []string { return lifted(e) }, []string{"ClusterRole /" + roles[v2.Name], "ClusterRoleBinding /" + roles[v2.Name]})
	m.settles(v2.Name)
	e.succeeds(v2.Name)
}

// approvedPlan is an InstallPlan that has created a Role for a version.
func approvedPlan(e *env, csv, role string) {
	e.Helper()
	plan(e, csv, map[string]operatorsv1alpha1.StepStatus{"Role " + role: operatorsv1alpha1.StepStatusCreated})
	kube.Patch(e, e.olm.InstallPlans(e.namespace), "install-"+csv, types.MergePatchType, []byte(`{"spec": {"approved": true}}`))
}

// givenTo has a version own a Role and its binding, as catalog-operator does.
func givenTo(e *env, csv *operatorsv1alpha1.ClusterServiceVersion, role string) {
	e.Helper()
	owner := fmt.Appendf(nil, `{"metadata": {"ownerReferences": [{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "name": %q, "uid": %q}]}}`, csv.Name, csv.UID)
	kube.Patch(e, e.kube.RbacV1().Roles(e.namespace), role, types.MergePatchType, owner)
	kube.Patch(e, e.kube.RbacV1().RoleBindings(e.namespace), role, types.MergePatchType, owner)
}

// disappearsWithItsOwner does what the garbage collector does.
func disappearsWithItsOwner(e *env, role string) {
	e.Helper()
	e.must(e.kube.RbacV1().RoleBindings(e.namespace).Delete(e.ctx, role, metav1.DeleteOptions{}))
	e.must(e.kube.RbacV1().Roles(e.namespace).Delete(e.ctx, role, metav1.DeleteOptions{}))
}

// The ClusterRole of a lifted Role proves that an InstallPlan listed it, when the targets of the group change after
// catalog-operator has deleted the InstallPlan.
func TestTargetsChangeAfterTheInstallPlan(t *testing.T) {
	for name, test := range map[string]struct {
		first, next func(e *env, other, joining string) operatorsv1.OperatorGroupSpec
		back        bool
	}{
		"a namespace joins": {
			first: func(e *env, other, _ string) operatorsv1.OperatorGroupSpec { return namespaces(e.namespace, other) },
			next: func(e *env, other, joining string) operatorsv1.OperatorGroupSpec {
				return namespaces(e.namespace, other, joining)
			},
		},
		"all namespaces, one, and all again": {
			first: func(*env, string, string) operatorsv1.OperatorGroupSpec { return allNamespaces },
			next:  func(e *env, _, _ string) operatorsv1.OperatorGroupSpec { return namespaces(e.namespace) },
			back:  true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			defineInstallPlans(e)
			other, joining := newNamespace(e, "", nil), newNamespace(e, "", nil)
			operating(e, test.first(e, other, joining))
			operator := asking(csv(e.namespace+".v1", "server"), readPods)
			role := permissions.PlannedRole(operator.Name, operator.Spec.InstallStrategy.StrategySpec.Permissions[0])
			serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
			m := manageThrough(e, grantedTo(e, "manager/clusterrole.yaml", "lift-roles/clusterrole.yaml", "with-olm/clusterrole.yaml"), withOLM)
			bindRoleIn(e, e.namespace, role)
			e.create(operator)
			approvedPlan(e, operator.Name, role)
			e.succeeds(operator.Name)
			e.must(e.olm.InstallPlans(e.namespace).Delete(e.ctx, "install-"+operator.Name, metav1.DeleteOptions{}))
			m.settles(operator.Name)

			editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec = test.next(e, other, joining) })
			if test.back {
				becomes(e, "only the ClusterRole is left", func() []string { return lifted(e) }, []string{"ClusterRole /" + role})
				e.succeeds(operator.Name)
				editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec = test.first(e, other, joining) })
				becomes(e, "what is lifted", func() []string { return lifted(e) }, []string{"ClusterRole /" + role, "ClusterRoleBinding /" + role})
			} else {
				becomes(e, "what is lifted", func() []string { return lifted(e) }, slices.Sorted(slices.Values([]string{
					"ClusterRole /" + role, "Role " + joining + "/" + role, "Role " + other + "/" + role, "RoleBinding " + joining + "/" + role, "RoleBinding " + other + "/" + role,
				})))
			}
			m.settles(operator.Name)
			e.succeeds(operator.Name)
			e.uninstall(operator.Name)
			expect(t, lifted(e))
		})
	}
}
