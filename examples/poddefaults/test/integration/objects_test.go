package integration

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

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
)

// newNamespace returns one with the ServiceAccounts of the table. It is gone after the test.
func (o *operator) newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "poddefaults-"}}
	namespace, err := o.kube.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.kube.CoreV1().Namespaces().Delete(context.Background(), namespace.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"default", "one", "two"} {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
		_, err := o.kube.CoreV1().ServiceAccounts(namespace.Name).Create(t.Context(), account, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) { // a cluster's controller makes the default one
			t.Fatal(err)
		}
	}
	return namespace.Name
}

// createPodDefaults returns the resourceVersions by name.
func (o *operator) createPodDefaults(t *testing.T, all []*v1alpha1.PodDefault) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, d := range all {
		created, err := o.tryPodDefault(t, d)
		if err != nil {
			t.Fatal(err)
		}
		versions[d.Name] = created.GetResourceVersion()
	}
	return versions
}

func (o *operator) tryPodDefault(t *testing.T, d *v1alpha1.PodDefault) (*unstructured.Unstructured, error) {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(object, "metadata", "resourceVersion")
	return o.podDefaults.Namespace(d.Namespace).Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
}

// eventually waits until a condition holds, and fails with what it saw last.
func eventually(t *testing.T, condition func() (ok bool, seen any)) {
	t.Helper()
	var last any
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		ok, seen := condition()
		last = seen
		return ok, nil
	})
	if err != nil {
		t.Fatalf("not within 30 s; last seen: %v", last)
	}
}
