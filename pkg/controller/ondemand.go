package controller

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// onDemand are caches of what only some clusters have, or only some operators need:
// each is filled from the first time on that it is asked for.
type onDemand struct {
	client  dynamic.Interface
	changed func(before, after rollout.Object)

	mutex  sync.Mutex
	end    <-chan struct{}
	stores map[schema.GroupVersionResource]store[*unstructured.Unstructured]
}

func newOnDemand(client dynamic.Interface, changed func(before, after rollout.Object)) *onDemand {
	return &onDemand{client: client, changed: changed, stores: map[schema.GroupVersionResource]store[*unstructured.Unstructured]{}}
}

// live tells until when caches are to be kept current.
func (d *onDemand) live(end <-chan struct{}) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.end = end
}

// of is the cache of a resource, and whether it is filled. Whoever finds it not filled is
// woken up by what comes into it, and has to look again by himself where nothing does.
func (d *onDemand) of(resource schema.GroupVersionResource) (filled store[*unstructured.Unstructured], ok bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	s, known := d.stores[resource]
	if !known {
		informer := dynamicinformer.NewFilteredDynamicInformer(d.client, resource, metav1.NamespaceAll, 0,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, func(o *metav1.ListOptions) {
				if resource == issuers.Certificates || resource == configMaps { // of issuers, those of administrators count, too
					o.LabelSelector = vocabulary.LabelManaged + "=true"
				}
			}).Informer()
		s = newStore[*unstructured.Unstructured](informer, withoutManagedFields)
		if _, err := informer.AddEventHandler(handler(d.changed)); err != nil {
			panic(err) // only a stopped informer refuses
		}
		d.stores[resource] = s
		go informer.Run(d.end)
	}
	return s, s.synced()
}

// known is the cache of a resource that was asked for before; ok is false when it was not.
func (d *onDemand) known(resource schema.GroupVersionResource) (s store[*unstructured.Unstructured], ok bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	s, ok = d.stores[resource]
	return s, ok
}
