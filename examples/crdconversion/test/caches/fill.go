package caches

import (
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
)

// Fill makes Caches from cache-0000 on, every other one in v2 and with what v1 has no field
// for. Cache 7 is labelled protected=true.
func (c *Client) Fill(t *testing.T, count int) {
	t.Helper()
	var group sync.WaitGroup
	next := make(chan int)
	for range 16 {
		group.Go(func() {
			for i := range next {
				if err := c.fillIn(t, i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	group.Wait()
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
	cache := New(version, fmt.Sprintf("cache-%04d", i), spec)
	if i == 7 {
		cache.SetLabels(map[string]string{"protected": "true"})
	}
	_, err := c.In(version).Create(t.Context(), cache, metav1.CreateOptions{})
	return err
}

// All is what people wrote of all Caches in a version, by name.
func (c *Client) All(t *testing.T, version schema.GroupVersion) map[string]map[string]any {
	t.Helper()
	list, err := c.In(version).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string]any{}
	for i := range list.Items {
		found[list.Items[i].GetName()] = Authored(&list.Items[i])
	}
	return found
}
