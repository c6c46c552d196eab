package olmclient

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/tools/cache"
)

// NewInformer covers the namespace of the client, or all, with an index by namespace, and does not resync.
func NewInformer[O any, P object[O], L runtime.Object](client *gentype.ClientWithList[P, L]) cache.SharedIndexInformer {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}
	return cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(source, client), P(new(O)),
		cache.SharedIndexInformerOptions{Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}},
	)
}

// Informers are informers that are started together.
type Informers []cache.SharedIndexInformer

// StartWithContext runs each informer until the context ends. Call it once: an informer runs once.
func (i Informers) StartWithContext(ctx context.Context) {
	for _, informer := range i {
		go informer.RunWithContext(ctx)
	}
}
