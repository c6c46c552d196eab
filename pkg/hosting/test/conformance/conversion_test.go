package conformance

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

func split(from, to *unstructured.Unstructured) error {
	size, _, err := unstructured.NestedString(from.Object, "size")
	width, height, ok := strings.Cut(size, "x")
	if !ok {
		err = fmt.Errorf("size %q is not WIDTHxHEIGHT", size)
	}
	to.Object["width"], to.Object["height"] = width, height
	return err
}

func join(from, to *unstructured.Unstructured) error {
	to.Object["size"] = fmt.Sprintf("%sx%s", from.Object["width"], from.Object["height"])
	return nil
}

func TestConversion(t *testing.T) {
	namespace, _ := newNamespace(t, "conversion")
	hostingtest.Must(t, cluster.InstallCRDs(t.Context(), "testdata/windows.yaml"))
	kind := schema.GroupVersionKind{Group: "house.example.com", Version: "v2", Kind: "Window"}
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("windows", hosting.Webhook{
		Handler: hosting.Conversion(kind, hosting.Spoke(kind.GroupKind().WithVersion("v1"), split, join)),
	})
	start(t, b, "--register-webhooks")
	v1, v2 := windowsOf(t, namespace, "v1"), windowsOf(t, namespace, "v2")

	one := map[string]any{
		"metadata": map[string]any{"name": "one", "labels": map[string]any{"a": "b"}, "finalizers": []any{"house.example.com/f"}},
		"size":     "2x3",
	}
	made := create(t, v1, one)
	hostingtest.Eventually(t, "v2 is converted", func() bool {
		got, err := v2.Get(t.Context(), "one", metav1.GetOptions{})
		return err == nil && got.Object["width"] == "2"
	})
	read, err := v2.Get(t.Context(), "one", metav1.GetOptions{})
	hostingtest.Must(t, err)
	want := made.DeepCopy()
	want.SetAPIVersion("house.example.com/v2")
	delete(want.Object, "size")
	want.Object["width"], want.Object["height"] = "2", "3"
	hostingtest.Same(t, "v1 read as v2", want.Object, read.Object)

	read.Object["width"] = "4"
	if _, err := v2.Update(t.Context(), read, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	create(t, v2, map[string]any{"metadata": map[string]any{"name": "two"}, "width": "5", "height": "6"})
	list, err := v1.List(t.Context(), metav1.ListOptions{})
	hostingtest.Must(t, err)
	sizes := map[string]any{}
	for _, w := range list.Items {
		sizes[w.GetName()] = w.Object["size"]
	}
	hostingtest.Same(t, "v2 listed as v1", map[string]any{"one": "4x3", "two": "5x6"}, sizes)

	create(t, v1, map[string]any{"metadata": map[string]any{"name": "bad"}, "size": "big"})
	_, err = v2.Get(t.Context(), "bad", metav1.GetOptions{})
	if err == nil || !strings.Contains(err.Error(), `size "big" is not WIDTHxHEIGHT`) {
		t.Errorf("what cannot be converted is answered with: %v", err)
	}
}

func windowsOf(t *testing.T, namespace, version string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config())
	hostingtest.Must(t, err)
	return client.Resource(schema.GroupVersionResource{Group: "house.example.com", Version: version, Resource: "windows"}).Namespace(namespace)
}

// create retries until the API server uses the webhook.
func create(t *testing.T, windows dynamic.ResourceInterface, fields map[string]any) *unstructured.Unstructured {
	t.Helper()
	var made *unstructured.Unstructured
	hostingtest.Eventually(t, "a Window is created", func() bool {
		object := &unstructured.Unstructured{Object: fields}
		object.SetKind("Window")
		object.SetAPIVersion("house.example.com/v2")
		if fields["size"] != nil {
			object.SetAPIVersion("house.example.com/v1")
		}
		var err error
		made, err = windows.Create(t.Context(), object, metav1.CreateOptions{})
		if err != nil && !apierrors.IsInternalError(err) && !apierrors.IsServerTimeout(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	return made
}
