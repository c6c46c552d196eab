package olmclient

import (
	"fmt"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An informer reads the objects of its namespace with one watch, and then their changes.
func TestInformer(t *testing.T) {
	const subscription = `{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": {"namespace": "shop", `
	change, paths := make(chan string), make(chan string, 10)
	c := newClient(t, rest.Config{}, func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path
		if q := r.URL.Query(); q.Get("watch") != "true" || q.Get("sendInitialEvents") != "true" {
			t.Errorf("request %s", r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"type": "ADDED", "object": `+subscription+`"name": "first", "resourceVersion": "1"}}}
			{"type": "BOOKMARK", "object": `+subscription+`"resourceVersion": "2", "annotations": {"k8s.io/initial-events-end": "true"}}}}`)
		for {
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case event := <-change:
				fmt.Fprint(w, event)
			}
		}
	})
	informer := NewInformer(c.Subscriptions("shop"))
	seen := make(chan string, 10)
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
		key, err := cache.MetaNamespaceKeyFunc(o)
		if err != nil {
			t.Error(err)
		}
		seen <- key
	}}); err != nil {
		t.Fatal(err)
	}
	Informers{informer}.StartWithContext(t.Context())
	if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
		t.Fatal("the informer is not filled")
	}
	installtest.Same(t, "the path", "/apis/operators.coreos.com/v1alpha1/namespaces/shop/subscriptions", <-paths)
	installtest.Same(t, "the first object", "shop/first", <-seen)
	change <- `{"type": "ADDED", "object": ` + subscription + `"name": "second", "resourceVersion": "3"}}}`
	installtest.Same(t, "the second object", "shop/second", <-seen)
	installtest.Same(t, "objects in the namespace", 2, len(installtest.OrPanic(informer.GetIndexer().ByIndex(cache.NamespaceIndex, "shop"))))
}
