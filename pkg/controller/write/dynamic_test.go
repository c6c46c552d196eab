package write

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// An object of a kind that no issuer or operator reads is not written.
func TestUnknownKindIsNotWritten(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
	_, _, err := (&Writer{}).sendDynamic(t.Context(), nil, rollout.Step{Verb: rollout.Apply, Object: o}, o)
	installtest.Error(t, "no way to write a Secret", err)
}

// An object of another client with the name of an issuer's object is returned, and not changed.
func TestObjectOfAnotherClientIsNotOverwritten(t *testing.T) {
	configMap := func(labels map[string]string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		o.SetNamespace("shop")
		o.SetName("manager-service-ca")
		o.SetLabels(labels)
		return o
	}
	for _, verb := range []rollout.Verb{rollout.Create, rollout.Apply} {
		other, desired := configMap(map[string]string{"app": "other"}), configMap(map[string]string{"olm.managed": "true"})
		client := fake.NewSimpleDynamicClient(runtime.NewScheme(), other.DeepCopy())
		w := &Writer{Set: clients.Set{Dynamic: client}}
		written, existing, err := w.sendDynamic(t.Context(), client, rollout.Step{Verb: verb, Object: desired, Desired: desired}, desired)
		if err != nil || written != nil || existing == nil || existing.GetLabels()["app"] != "other" {
			t.Errorf("%s: written %v, existing %v, error %v", verb, written, existing, err)
		}
		got, err := client.Resource(issuers.ConfigMaps).Namespace("shop").Get(t.Context(), other.GetName(), metav1.GetOptions{})
		installtest.Must(t, err)
		installtest.Same(t, string(verb), other.Object, got.Object)
	}
}

// The creation of an object that exists, and is deleted before it is read, is retried.
func TestExistingObjectIsDeleted(t *testing.T) {
	desired := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "a"}}}
	client := fake.NewSimpleDynamicClient(runtime.NewScheme(), desired.DeepCopy())
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &unstructured.UnstructuredList{}, nil
	})
	w := &Writer{Set: clients.Set{Dynamic: client}}
	written, existing, err := w.sendDynamic(t.Context(), client, rollout.Step{Verb: rollout.Create, Object: desired, Desired: desired}, desired)
	if written != nil || existing != nil || !apierrors.IsAlreadyExists(err) {
		t.Errorf("written %v, existing %v, error %v", written, existing, err)
	}
}
