package table

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Namespace is a namespace for pods and PodDefaults.
type Namespace struct {
	Name        string
	PodDefaults dynamic.ResourceInterface

	client kubernetes.Interface
}

// NewNamespace creates a namespace with the ServiceAccounts of the table. It is deleted after the test.
func NewNamespace(t *testing.T, config *rest.Config, labels map[string]string) *Namespace {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	installtest.Must(t, err)
	dynamicClient, err := dynamic.NewForConfig(config)
	installtest.Must(t, err)
	made := kube.CreateTemporary(t, client.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "poddefaults-", Labels: labels}})
	for _, name := range []string{"default", "one", "two"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := client.CoreV1().ServiceAccounts(made.Name).Create(t.Context(), account, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) { // a controller may have created the default one
			t.Fatal(err)
		}
	}
	return &Namespace{Name: made.Name, PodDefaults: dynamicClient.Resource(v1alpha1.Resource).Namespace(made.Name), client: client}
}

// As returns the same namespace with another client for pods.
func (n *Namespace) As(t *testing.T, config *rest.Config) *Namespace {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	installtest.Must(t, err)
	return &Namespace{Name: n.Name, PodDefaults: n.PodDefaults, client: client}
}

// CreatePodDefaults returns the resourceVersions by name. It deletes the PodDefaults after the test.
func (n *Namespace) CreatePodDefaults(t *testing.T, all []*v1alpha1.PodDefault) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, d := range all {
		created, err := n.TryPodDefault(t, d)
		installtest.Must(t, err)
		versions[d.Name] = created.GetResourceVersion()
	}
	return versions
}

// TryPodDefault creates a PodDefault, which is deleted after the test.
func (n *Namespace) TryPodDefault(t *testing.T, d *v1alpha1.PodDefault) (*unstructured.Unstructured, error) {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	installtest.Must(t, err)
	unstructured.RemoveNestedField(object, "metadata", "resourceVersion")
	created, err := n.PodDefaults.Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
	if err == nil {
		t.Cleanup(func() {
			if err := n.PodDefaults.Delete(context.Background(), d.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		})
	}
	return created, err
}

func eventually(t *testing.T, condition func() (ok bool, seen any)) {
	t.Helper()
	var last any
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		ok, seen := condition()
		last = seen
		return ok, nil
	})
	if err != nil {
		t.Fatalf("not within 30 s; last observed: %v", last)
	}
}
