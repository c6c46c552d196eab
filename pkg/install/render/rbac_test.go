package render

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

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
