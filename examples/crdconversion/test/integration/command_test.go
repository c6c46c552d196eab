package integration

import (
	"bytes"
	"os/exec"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

// migrate runs the command. It names the API server: no EndpointSlice may have a loopback address.
func (e *env) migrate(succeeds bool, flags ...string) string {
	e.Helper()
	address, _, err := rest.DefaultServerUrlFor(cluster.Config())
	e.must(err)
	return e.startMigrate(append(flags, "--api-servers="+address.Host)...).end(succeeds)
}

type command struct {
	*env
	*exec.Cmd
	output *bytes.Buffer
}

func (e *env) startMigrate(flags ...string) *command {
	e.Helper()
	path, err := programs.Path(programs.Manager)
	e.must(err)
	arguments := append([]string{"storage", "migrate", crdName, "--to", "v1", "--kubeconfig", cluster.Kubeconfig, "--api-server-request-timeout=1s"}, flags...)
	c := &command{e, exec.CommandContext(e.Context(), path, arguments...), &bytes.Buffer{}}
	c.Stdout, c.Stderr = c.output, c.output
	e.must(c.Start())
	return c
}

func (c *command) end(succeeds bool) string {
	c.Helper()
	if err := c.Wait(); (err == nil) != succeeds {
		c.Fatalf("%v\n%s", err, c.output)
	}
	return c.output.String()
}

// startMigrator runs the cluster's own migrator and the garbage collector whose caches it uses.
func (e *env) startMigrator() (stop func()) {
	e.Helper()
	end, err := cluster.StartControllers([]string{"garbage-collector-controller", "storage-version-migrator-controller"}, migratorGate)
	e.must(err)
	return func() { e.Helper(); e.must(end()) }
}

// migrateAsOther orders a StorageVersionMigration as another client, and returns when it has ended. It fails
// or skips the protected object. kube-controller-manager has then set status.storedVersions.
func (e *env) migrateAsOther() {
	e.Helper()
	orders := e.kube.StoragemigrationV1beta1().StorageVersionMigrations()
	order := kube.Create(e, orders, &storagemigrationv1beta1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "caches-"},
		Spec:       storagemigrationv1beta1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: convert.V1.Group, Resource: convert.Resource}},
	})
	is := func(condition storagemigrationv1beta1.MigrationConditionType) bool {
		order = kube.Get(e, orders, order.Name)
		return meta.IsStatusConditionTrue(order.Status.Conditions, string(condition))
	}
	ended := func() bool {
		return is(storagemigrationv1beta1.MigrationSucceeded) || is(storagemigrationv1beta1.MigrationFailed)
	}
	e.eventually(func() (bool, any) { return is(storagemigrationv1beta1.MigrationRunning) || ended(), order.Status })
	e.eventually(func() (bool, any) { return ended() && !is(storagemigrationv1beta1.MigrationRunning), order.Status })
	e.must(orders.Delete(e.Context(), order.Name, metav1.DeleteOptions{}))
}

// asAdministrator returns the flag for a user with the documented permissions, when the API server applies them.
func (e *env) asAdministrator() (flag string) {
	e.Helper()
	const name = "storage-administrator"
	kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{crdName}, Verbs: []string{"get", "patch"}},
		{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions/status"}, ResourceNames: []string{crdName}, Verbs: []string{"patch"}},
		{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: []string{"list"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"list"}},
		{APIGroups: []string{"crdconversion.example.com"}, Resources: []string{"caches"}, Verbs: []string{"list", "get", "update"}},
	}})
	kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	})
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: name, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "update", Group: convert.V1.Group, Resource: "caches"},
	}}
	e.eventually(func() (bool, any) {
		answer, err := e.kube.AuthorizationV1().SubjectAccessReviews().Create(e.Context(), review, metav1.CreateOptions{})
		e.must(err)
		return answer.Status.Allowed, answer.Status
	})
	return "--as=" + name
}
