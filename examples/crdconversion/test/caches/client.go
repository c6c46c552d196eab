// Package caches has an API server convert Caches.
package caches

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Versions are the versions of Caches.
var Versions = []schema.GroupVersion{convert.V1, convert.V2}

// Client reads and writes the Caches of a namespace.
type Client struct {
	Dynamic   dynamic.Interface
	Namespace string
}

// In returns the client of one version.
func (c *Client) In(version schema.GroupVersion) dynamic.ResourceInterface {
	return c.Dynamic.Resource(version.WithResource(convert.Resource)).Namespace(c.Namespace)
}

// Get returns a Cache that must exist.
func (c *Client) Get(t *testing.T, version schema.GroupVersion, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := c.In(version).Get(t.Context(), name, metav1.GetOptions{})
	installtest.Must(t, err)
	return object
}

// TryDryRun returns the reason why Caches of a version cannot be written or listed, or nil. A dry
// run converts to the storage version and back.
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

// Content returns a Cache without the fields that every write changes.
func Content(cache *unstructured.Unstructured) map[string]any {
	content := cache.DeepCopy()
	content.SetResourceVersion("")
	content.SetManagedFields(nil)
	return content.Object
}

// Authored returns Content without the status, which a running operator writes.
func Authored(cache *unstructured.Unstructured) map[string]any {
	content := Content(cache)
	delete(content, "status")
	return content
}
