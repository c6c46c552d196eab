package kube

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var cluster *Cluster

func TestMain(m *testing.M) { Main(m, &cluster) }

func TestAddressOf(t *testing.T) {
	for pid, want := range map[int]string{
		1:         "127.64.0.1",
		0x1234:    "127.64.18.52",
		1<<22 - 1: "127.127.255.255",
	} {
		if got := addressOf(pid); got != netip.MustParseAddr(want) {
			t.Errorf("addressOf(%d) = %s, want %s", pid, got, want)
		}
	}
}

func TestRoleBasedAccessControl(t *testing.T) {
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	_, err := newClient(t, config).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a user without a role lists namespaces: %v, want it forbidden", err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"},
	}}
	review, err = newClient(t, cluster.Config()).AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || !review.Status.Allowed {
		t.Errorf("the configuration's user may not do everything: %v, %v", review.Status, err)
	}
}

func newClient(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

func configMap(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())) + "-" + time.Now().Format("150405.000000")
	t.Cleanup(func() {
		err := newClient(t, cluster.Config()).CoreV1().ConfigMaps("default").Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func createConfigMap(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	object := configMap(t)
	return Create(t, client.CoreV1().ConfigMaps("default"), object).Name
}

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 10*time.Second, true, func(context.Context) (bool, error) { return so(), nil })
	if err != nil {
		t.Fatalf("never: %s", what)
	}
}
