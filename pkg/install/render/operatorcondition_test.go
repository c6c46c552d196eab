package render

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An operator may write its condition with any of the accounts that its bundle names.
func TestCondition(t *testing.T) {
	permissions := func(accounts ...string) []operatorsv1alpha1.StrategyDeploymentPermissions {
		return lists.Map(accounts, func(account string) operatorsv1alpha1.StrategyDeploymentPermissions {
			return operatorsv1alpha1.StrategyDeploymentPermissions{ServiceAccountName: account}
		})
	}
	for name, test := range map[string]struct {
		namespaced, cluster, want []string
	}{
		"no permissions":     {nil, nil, []string{"default"}},
		"two of both sorts":  {[]string{"worker", "manager"}, []string{"manager"}, []string{"manager", "worker"}},
		"one without a name": {[]string{""}, nil, []string{"default"}},
		"one of both sorts":  {[]string{"worker"}, []string{"worker"}, []string{"worker"}},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"), installtest.DeploymentOf("worker")), installtest.ServedBy("manager"))
			csv.Spec.InstallStrategy.StrategySpec.Permissions, csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions = permissions(test.namespaced...), permissions(test.cluster...)
			in := inputOf(csv)
			installtest.Same(t, "the OperatorCondition without its kind", nil, Objects(in).Condition)
			in.OperatorConditions = true
			c := Objects(in).Condition
			installtest.Same(t, "accounts", test.want, c.Object.Spec.ServiceAccounts)
			installtest.Same(t, "Deployments", []string{"manager", "worker"}, c.Object.Spec.Deployments)
			var bound []string
			for _, subject := range c.RoleBinding.Subjects {
				installtest.Same(t, "the namespace of the subject", "shop", subject.Namespace)
				bound = append(bound, subject.Name)
			}
			installtest.Same(t, "bound", test.want, bound)
			names := []string{c.Object.Name, c.Role.Name, c.Role.Rules[0].ResourceNames[0], c.RoleBinding.RoleRef.Name}
			installtest.Same(t, "names", slices.Repeat([]string{"shop.v1"}, 4), names)
		})
	}
}

func TestSecretAccess(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.PodSpec)
		want   string
	}{
		"of the ServiceAccount":                    {func(pod *corev1.PodSpec) { pod.ServiceAccountName = "shop" }, "shop"},
		"of the default ServiceAccount":            {func(*corev1.PodSpec) {}, "default"},
		"of a ServiceAccount under its older name": {func(pod *corev1.PodSpec) { pod.DeprecatedServiceAccount = "shop" }, "shop"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) { test.change(&d.Template.Spec) })
			d := rendered(t, inputOf(installtest.Operator(installtest.Deployments(spec), installtest.ServedBy("manager"))))

			rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"manager-service-cert"}, Verbs: []string{"get"}}}
			installtest.Same(t, "rules", rules, d.Role.Rules)
			installtest.Same(t, "roleRef", rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: d.Role.Name}, d.RoleBinding.RoleRef)
			installtest.Same(t, "subjects", []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "shop", Name: test.want}}, d.RoleBinding.Subjects)
		})
	}
}
