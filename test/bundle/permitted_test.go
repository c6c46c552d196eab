package bundle

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func TestStatusOfWhoSeesANamespace(t *testing.T) {
	const namespace, user = "permitted", "somebody"
	e := newEnv(t)
	e.namespace(t, namespace)
	meta := metav1.ObjectMeta{Name: "reader"}
	kube.Create(t, e.kube.RbacV1().Roles(namespace), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"clusterserviceversions"}, Verbs: []string{"list"}},
		{APIGroups: []string{"olm-webhook-manager.io"}, Resources: []string{"webhookrollouts"}, Verbs: []string{"list"}},
	}})
	kube.Create(t, e.kube.RbacV1().RoleBindings(namespace), &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
	})
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c, err := installer.New(config)
	must(t, err)

	unseen := ""
	e.eventually(t, "the namespace may be read", func() bool {
		facts, err := c.Status(t.Context(), namespace)
		unseen = facts.RegistrationsUnread
		return err == nil
	})
	if unseen == "" {
		t.Error("nothing is reported about what may not be read")
	}
	if _, err := c.Status(t.Context(), metav1.NamespaceAll); !apierrors.IsForbidden(err) {
		t.Errorf("all namespaces: %v", err)
	}
}
