package integration

import (
	"cmp"
	"os"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A manager of one namespace installs and repairs an operator, rotates its certificate, and uninstalls it with the permissions of
// manifests/limited. No request of it is refused, and it cannot read Secrets of other namespaces.
func TestLimitedManager(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	config, user := limitedUser(e)
	place := auditEnd(e)
	m := manageThrough(e, config, func(o *controller.Options) { o.APIServers = nil })
	e.install(csv("operator.v1", "server"))
	same(t, "the phase of operator.v1", e.get("operator.v1").Status.Phase, operatorsv1alpha1.CSVPhaseSucceeded)
	e.must(e.kube.CoreV1().Secrets(e.namespace).Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
	awaitObject(e, e.kube.CoreV1().Secrets(e.namespace), servingSecret)
	e.order("once")
	rotates(e, 3)
	propagatedBy(e, managerv1alpha1.CertificatePropagation{Method: managerv1alpha1.PropagationRepeatedRequests, APIServers: 1})
	e.uninstall("operator.v1")
	m.stop()
	noneIsForbidden(e, requests(e, place, m.userAgent))
	other := neighbour(e)
	for _, resource := range []string{"secrets", "services", "pods", "configmaps"} {
		for _, verb := range []string{"get", "list", "create", "update"} {
			review := kube.Create(e, e.kube.AuthorizationV1().SubjectAccessReviews(), &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
				User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: other.namespace, Verb: verb, Resource: resource},
			}})
			same(t, "it may "+verb+" "+resource+" of another namespace", review.Status.Allowed, false)
		}
	}
}

// limitedUser has the permissions of manifests/limited in this test's Namespace, under names of its own.
func limitedUser(e *env) (*rest.Config, string) {
	e.Helper()
	user := "limited-" + e.namespace
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	var everywhere rbacv1.ClusterRole
	readLimited(e, "clusterrole.yaml", &everywhere)
	everywhere.Name = user
	kube.Create(e, e.kube.RbacV1().ClusterRoles(), &everywhere)
	kube.Create(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
	})
	for _, file := range []string{"namespace/role.yaml", "apiservers.yaml", "authreader.yaml"} {
		var role rbacv1.Role
		readLimited(e, file, &role)
		role.Name, role.Namespace = user, cmp.Or(role.Namespace, e.namespace)
		kube.Create(e, e.kube.RbacV1().Roles(role.Namespace), &role)
		kube.Create(e, e.kube.RbacV1().RoleBindings(role.Namespace), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user}, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		})
	}
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	return config, user
}

// readLimited reads the first object of a file of manifests/limited.
func readLimited(e *env, file string, into any) {
	e.Helper()
	text, err := os.ReadFile("../../manifests/limited/" + file)
	e.must(err)
	first, _, _ := strings.Cut(string(text), "\n---\n")
	e.must(yaml.UnmarshalStrict([]byte(first), into))
}
