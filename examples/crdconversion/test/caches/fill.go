package caches

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Fill creates Caches from cache-0000 on. Every second one is written in v2, with fields that only v2 has.
func (c *Client) Fill(t *testing.T, count int) {
	t.Helper()
	each(t, count, func(i int) error { return c.fillIn(t, i) })
}

// Report writes the status of every third of these Caches, alternately in v1 and v2.
func (c *Client) Report(t *testing.T, count int) {
	t.Helper()
	each(t, (count+2)/3, func(i int) error {
		cache, err := c.In(Versions[i%2]).Get(t.Context(), nameOf(3*i), metav1.GetOptions{})
		if err != nil {
			return err
		}
		cache.Object["status"] = map[string]any{"memory": fmt.Sprintf("%dMi", i+1), "observedGeneration": cache.GetGeneration()}
		_, err = c.In(Versions[i%2]).UpdateStatus(t.Context(), cache, metav1.UpdateOptions{})
		return err
	})
}

func nameOf(i int) string { return fmt.Sprintf("cache-%04d", i) }

// each calls do concurrently for the numbers below count.
func each(t *testing.T, count int, do func(int) error) {
	t.Helper()
	workqueue.ParallelizeUntil(t.Context(), 16, count, func(i int) {
		if err := do(i); err != nil {
			t.Error(err)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

func (c *Client) fillIn(t *testing.T, i int) error {
	version, spec := convert.V1, map[string]any{"size": fmt.Sprintf("%dx%dMi", i%5+1, i+1), "evict": "lru", "debug": i%3 == 0}
	if i%2 == 0 {
		version, spec = convert.V2, map[string]any{
			"replicas": int64(i%5 + 1), "resources": map[string]any{"memory": fmt.Sprintf("%dMi", i+1)},
			"zones": []any{fmt.Sprintf("north-%d", i)}, "eviction": map[string]any{"policy": "Random"},
		}
	}
	_, err := c.In(version).Create(t.Context(), New(version, nameOf(i), spec), metav1.CreateOptions{})
	return err
}

// All returns the Caches in a version by name, each as part returns it.
func (c *Client) All(t *testing.T, version schema.GroupVersion, of func(*unstructured.Unstructured) map[string]any) map[string]map[string]any {
	t.Helper()
	list := kube.List(t, c.In(version), metav1.ListOptions{})
	found := map[string]map[string]any{}
	for i := range list.Items {
		found[list.Items[i].GetName()] = of(&list.Items[i])
	}
	return found
}
