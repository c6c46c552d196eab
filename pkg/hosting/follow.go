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

// Followed is called with what happens to the objects of a resource, one call at a time.
type Followed struct {
	// Seen gets each object, when it is first seen and whenever it has changed. The
	// object is shared: it must not be changed.
	Seen func(object *unstructured.Unstructured)
	// Gone, if there is one, gets the name of each object that is there no more.
	Gone func(name cache.ObjectName)
}

// Follow follows a resource's objects until ctx ends, so that to know them costs a
// webhook no call to the API server. It returns when all that there are have been Seen,
// which makes it the last thing that a Webhook's Prepare does, and with a lister of them.
func Follow(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, f Followed) (cache.GenericLister, error) {
	followed := dynamicinformer.NewFilteredDynamicInformer(client, resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
	handled, err := followed.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    f.seen,
		UpdateFunc: func(_, object any) { f.seen(object) },
		DeleteFunc: f.gone,
	})
	if err != nil {
		return nil, fmt.Errorf("following %s: %w", resource.GroupResource(), err)
	}
	go followed.Informer().RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		return nil, fmt.Errorf("following %s: %w", resource.GroupResource(), context.Cause(ctx))
	}
	return followed.Lister(), nil
}

func (f Followed) seen(object any) {
	f.Seen(object.(*unstructured.Unstructured)) // a dynamic informer has no others
}

func (f Followed) gone(object any) {
	if f.Gone == nil {
		return
	}
	name, err := cache.DeletionHandlingObjectToName(object)
	if err != nil {
		klog.Errorf("Ignoring the deletion of what has no name: %v", err)
		return
	}
	f.Gone(name)
}
