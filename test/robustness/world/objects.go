package world

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	appslisters "k8s.io/client-go/listers/apps/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	discoverylisters "k8s.io/client-go/listers/discovery/v1"
	"k8s.io/client-go/tools/cache"
)

// objects are what the controllers observe.
type objects struct {
	deployments appslisters.DeploymentLister
	replicaSets appslisters.ReplicaSetLister
	pods        corelisters.PodLister
	services    corelisters.ServiceLister
	secrets     corelisters.SecretLister
	slices      discoverylisters.EndpointSliceLister
}

func newObjects(factory informers.SharedInformerFactory, changed func()) (objects, error) {
	o := objects{
		deployments: factory.Apps().V1().Deployments().Lister(), replicaSets: factory.Apps().V1().ReplicaSets().Lister(),
		pods: factory.Core().V1().Pods().Lister(), services: factory.Core().V1().Services().Lister(),
		secrets: factory.Core().V1().Secrets().Lister(), slices: factory.Discovery().V1().EndpointSlices().Lister(),
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	}
	for _, informer := range []cache.SharedIndexInformer{
		factory.Apps().V1().Deployments().Informer(), factory.Apps().V1().ReplicaSets().Informer(), factory.Core().V1().Pods().Informer(),
		factory.Core().V1().Services().Informer(), factory.Core().V1().Secrets().Informer(), factory.Discovery().V1().EndpointSlices().Informer(),
	} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return objects{}, err
		}
	}
	return o, nil
}

// list returns the objects of a cache, which cannot fail.
func list[T any](from interface {
	List(labels.Selector) ([]*T, error)
}) []*T {
	all, _ := from.List(labels.Everything())
	return all
}
