package controller

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// onDemand are caches of what only some clusters have, or only some operators need:
// each is filled from the first time on that it is asked for.
type onDemand struct {
	client     dynamic.Interface
	namespaces []string // none: all
	changed    func(before, after drift.Object)
	now        func() time.Time

	mutex  sync.Mutex
	end    <-chan struct{}
	stores map[schema.GroupVersionResource]store[*unstructured.Unstructured]
}

func newOnDemand(client dynamic.Interface, namespaces []string, now func() time.Time, changed func(before, after drift.Object)) *onDemand {
	return &onDemand{client: client, namespaces: namespaces, now: now, changed: changed, stores: map[schema.GroupVersionResource]store[*unstructured.Unstructured]{}}
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
		s = newStore[*unstructured.Unstructured](unlessManaged(withoutManagedFields), d.informers(resource)...)
		s.began = d.now()
		for _, informer := range s.informers {
			if _, err := informer.AddEventHandler(handler(d.changed)); err != nil {
				panic(err) // only a stopped informer refuses
			}
			go informer.Run(d.end)
		}
		d.stores[resource] = s
	}
	return s, s.synced()
}

// informers are those of a resource, one for each namespace.
func (d *onDemand) informers(resource schema.GroupVersionResource) []cache.SharedIndexInformer {
	namespaces := orAll(d.namespaces)
	if resource == issuers.ClusterIssuers {
		namespaces = orAll(nil)
	}
	var all []cache.SharedIndexInformer
	for _, namespace := range namespaces {
		all = append(all, dynamicinformer.NewFilteredDynamicInformer(d.client, resource, namespace, 0,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, func(o *metav1.ListOptions) {
				if resource == issuers.Certificates || resource == configMaps { // of issuers, those of administrators count, too
					o.LabelSelector = vocabulary.LabelManaged + "=true"
				}
			}).Informer())
	}
	return all
}

// known is the cache of a resource that was asked for before; ok is false when it was not.
func (d *onDemand) known(resource schema.GroupVersionResource) (s store[*unstructured.Unstructured], ok bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	s, ok = d.stores[resource]
	return s, ok
}
