// Package caches has an API server convert Caches, in a cluster in which the webhook runs.
package caches

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
)

// Versions are all that there are.
var Versions = []schema.GroupVersion{convert.V1, convert.V2}

// Client reads and writes the Caches of one namespace.
type Client struct {
	Dynamic   dynamic.Interface
	Namespace string
}

// In is for one version.
func (c *Client) In(version schema.GroupVersion) dynamic.ResourceInterface {
	return c.Dynamic.Resource(version.WithResource(convert.Resource)).Namespace(c.Namespace)
}

// Get reads a Cache that must be there.
func (c *Client) Get(t *testing.T, version schema.GroupVersion, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := c.In(version).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// TryDryRun says why Caches of a version cannot be written or listed, if that is so: a dry
// run also goes the way to the version that is stored, and back.
func (c *Client) TryDryRun(t *testing.T, version schema.GroupVersion) error {
	t.Helper()
	probe := New(version, "probe", smallest(version))
	if _, err := c.In(version).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		return err
	}
	_, err := c.In(version).List(t.Context(), metav1.ListOptions{})
	return err
}

func smallest(version schema.GroupVersion) map[string]any {
	if version == convert.V1 {
		return map[string]any{"size": "1x1Gi"}
	}
	return map[string]any{"replicas": int64(1), "resources": map[string]any{"memory": "1Gi"}}
}

// New returns a Cache.
func New(version schema.GroupVersion, name string, spec map[string]any) *unstructured.Unstructured {
	c := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	c.SetGroupVersionKind(version.WithKind(convert.Kind))
	c.SetName(name)
	return c
}

// Content is a Cache without the fields that every write changes.
func Content(cache *unstructured.Unstructured) map[string]any {
	content := cache.DeepCopy()
	content.SetResourceVersion("")
	content.SetManagedFields(nil)
	return content.Object
}

// Authored is Content without the status, which an operator that runs writes meanwhile.
func Authored(cache *unstructured.Unstructured) map[string]any {
	content := Content(cache)
	delete(content, "status")
	return content
}
