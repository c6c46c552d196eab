package main

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

// fieldManager is the name under which the API server records the writes.
const fieldManager = "crdconversion"

// controller writes the status of Caches.
type controller struct {
	version string

	client dynamic.NamespaceableResourceInterface
	lister cache.GenericLister
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// Run writes statuses until ctx is done.
func (c *controller) Run(ctx context.Context, env hosting.Environment) error {
	if c.version != convert.V1.Version && c.version != convert.V2.Version {
		return fmt.Errorf("--cache-version=%s: there are %s and %s", c.version, convert.V1.Version, convert.V2.Version)
	}
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		return err
	}
	caches := schema.GroupVersionResource{Group: convert.Group, Version: c.version, Resource: convert.Resource}
	informer := dynamicinformer.NewFilteredDynamicInformer(client, caches, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
	c.client, c.lister = client.Resource(caches), informer.Lister()
	c.queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())
	defer context.AfterFunc(ctx, c.queue.ShutDown)()

	handled, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueue,
		UpdateFunc: func(_, obj any) { c.enqueue(obj) },
	})
	if err != nil {
		return fmt.Errorf("following Caches: %w", err)
	}
	var following sync.WaitGroup
	defer following.Wait()
	following.Go(func() { informer.Informer().RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), handled.HasSynced) {
		return context.Cause(ctx)
	}
	for c.next(ctx) {
	}
	return nil
}

func (c *controller) enqueue(obj any) {
	c.queue.Add(cache.MetaObjectToName(obj.(*unstructured.Unstructured)))
}

// next handles one Cache; false after the last.
func (c *controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	switch err := c.report(ctx, name); {
	case err == nil, apierrors.IsNotFound(err):
		c.queue.Forget(name)
	case apierrors.IsConflict(err):
		c.queue.AddRateLimited(name)
	default:
		klog.Errorf("Reporting on Cache %s, trying again: %v", name, err)
		c.queue.AddRateLimited(name)
	}
	return true
}

func (c *controller) report(ctx context.Context, name cache.ObjectName) error {
	obj, err := c.lister.ByNamespace(name.Namespace).Get(name.Name)
	if err != nil {
		return err
	}
	reported := obj.(*unstructured.Unstructured)
	status, err := statusOf(reported)
	if err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(reported.Object["status"], any(status)) {
		return nil
	}
	updated := reported.DeepCopy()
	updated.Object["status"] = status
	_, err = c.client.Namespace(name.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: fieldManager})
	return err
}
