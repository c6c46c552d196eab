package informers

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// OnDemand starts an informer when its cache is first requested: only some operators need these resources.
type OnDemand struct {
	client     dynamic.Interface
	namespaces []string // none: all
	changed    func(before, after drift.Object)
	now        func() time.Time

	mutex  sync.Mutex
	end    <-chan struct{}
	stores map[schema.GroupVersionResource]Store[*unstructured.Unstructured]
}

// NewOnDemand returns no cache yet. changed is called for each change of a cached object.
func NewOnDemand(client dynamic.Interface, namespaces []string, now func() time.Time, changed func(before, after drift.Object)) *OnDemand {
	return &OnDemand{client: client, namespaces: namespaces, now: now, changed: changed, stores: map[schema.GroupVersionResource]Store[*unstructured.Unstructured]{}}
}

// Start sets the channel whose end stops the informers.
func (d *OnDemand) Start(end <-chan struct{}) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.end = end
}

// Watch returns the cache of a resource, and whether it is filled. Without objects, no event reports that.
func (d *OnDemand) Watch(resource schema.GroupVersionResource) (filled Store[*unstructured.Unstructured], ok bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	s, known := d.stores[resource]
	if !known {
		s = NewStore[*unstructured.Unstructured](unlessManaged(withoutManagedFields), d.informers(resource)...)
		s.Began = d.now()
		for _, informer := range s.Informers {
			if _, err := informer.AddEventHandler(Handler(d.changed)); err != nil {
				panic(err) // only a stopped informer refuses
			}
			go informer.Run(d.end)
		}
		d.stores[resource] = s
	}
	return s, s.Synced()
}

func (d *OnDemand) informers(resource schema.GroupVersionResource) []cache.SharedIndexInformer {
	kind, namespaces := issuers.KindOf(resource), orAll(d.namespaces)
	if kind.ClusterScoped || resource == subscriptions.ProxyResource {
		namespaces = orAll(nil)
	}
	var all []cache.SharedIndexInformer
	for _, namespace := range namespaces {
		all = append(all, dynamicinformer.NewFilteredDynamicInformer(d.client, resource, namespace, 0,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}, func(o *metav1.ListOptions) {
				if kind.OnlyManaged {
					o.LabelSelector = wellknown.LabelManaged + "=true"
				}
			}).Informer())
	}
	return all
}

// IsWatched reports whether Watch was called for a resource.
func (d *OnDemand) IsWatched(resource schema.GroupVersionResource) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	_, watched := d.stores[resource]
	return watched
}
