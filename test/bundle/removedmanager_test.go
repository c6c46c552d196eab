package bundle

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// The manager is not stopped by a user who may only read, and it is by one who may scale it, also next to an evicted
// pod, which a ReplicaSet does not delete.
func TestRemoveManager(t *testing.T) {
	t.Parallel()
	const namespace, user = "removed-manager", "reader-of-a-manager"
	e := newEnv(t)
	e.namespace(t, namespace)
	labels := map[string]string{"app": "manager"}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "manager", Args: []string{"run", "--namespaces=" + namespace}}}},
	}
	kube.Create(t, e.kube.AppsV1().Deployments(namespace), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "manager"},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	})
	evicted := kube.Create(t, e.kube.CoreV1().Pods(namespace), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "manager-0", Labels: labels}, Spec: template.Spec})
	evicted.Status.Phase, evicted.Status.Reason = corev1.PodFailed, "Evicted"
	kube.UpdateStatus(t, e.kube.CoreV1().Pods(namespace), evicted)
	meta := metav1.ObjectMeta{Name: user}
	kube.Create(t, e.kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}}})
	kube.Create(t, e.kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user}}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
	})
	replicas := func(want int32) {
		t.Helper()
		d := kube.Get(t, e.kube.AppsV1().Deployments(namespace), "manager")
		installtest.Same(t, "replicas", want, *d.Spec.Replicas)
	}
	remove := []string{"remove-manager", "-n", namespace, "--deployment=manager", "--yes"}
	e.eventually(t, "the user may read", func() bool {
		return webhooks(t, "status", "-n", namespace, "--as", user, "--as-group=system:authenticated").Run() == nil
	})

	out, err := webhooks(t, append(remove, "--as", user, "--as-group=system:authenticated")...).CombinedOutput()
	endsWith(t, err, 1)
	installtest.Contains(t, string(out), "scale deployments.apps "+namespace+"/manager to 0", "Refused: the API server refuses a request: ", "deployments/scale", "nothing was changed")
	replicas(1)

	out, err = webhooks(t, remove...).CombinedOutput()
	endsWith(t, err, 0)
	installtest.Contains(t, string(out), "scale deployments.apps "+namespace+"/manager to 0")
	replicas(0)
}

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
	c := installtest.OrPanic(installer.New(config))

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
