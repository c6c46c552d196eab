package hosting

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// ResourceHandler handles the events of a resource's objects, one at a time.
type ResourceHandler struct {
	// Updated is called with each existing, new and changed object. The object is shared: do not
	// change it.
	Updated func(object *unstructured.Unstructured)
	// Deleted is optional, and is called with the name of each deleted object.
	Deleted func(name cache.ObjectName)
}

// Watch runs an informer for a resource's objects until ctx ends, so that a webhook reads them
// without a call to the API server. It returns a lister when Updated was called for all existing
// objects. Call it at the end of a Webhook's Prepare.
func Watch(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, h ResourceHandler) (cache.GenericLister, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
	registration, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    h.updated,
		UpdateFunc: func(_, object any) { h.updated(object) },
		DeleteFunc: h.deleted,
	})
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", resource.GroupResource(), err)
	}
	go informer.Informer().RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil, fmt.Errorf("watch %s: %w", resource.GroupResource(), context.Cause(ctx))
	}
	return informer.Lister(), nil
}

func (h ResourceHandler) updated(object any) {
	h.Updated(object.(*unstructured.Unstructured)) // a dynamic informer has no other type
}

func (h ResourceHandler) deleted(object any) {
	if h.Deleted == nil {
		return
	}
	name, err := cache.DeletionHandlingObjectToName(object)
	if err != nil {
		klog.ErrorS(err, "Ignoring the deletion of an object without a name")
		return
	}
	h.Deleted(name)
}
