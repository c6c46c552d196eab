package cluster

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

// fieldManager owns what the commands apply.
const fieldManager = "kubectl-webhooks"

// applier writes objects of any kind.
type applier struct {
	dynamic dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func (c *Cluster) applier() (applier, error) {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return applier{}, err
	}
	return applier{client, restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.kube.Discovery()))}, nil
}

// apply writes an object by server-side apply, and returns it as it is then. A field that
// somebody else set to another value is a conflict, and its answer names both.
func (a applier) apply(ctx context.Context, o *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	client, err := a.clientFor(ctx, o)
	if err == nil {
		var applied *unstructured.Unstructured
		if applied, err = client.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: fieldManager, DryRun: dryRun}); err == nil {
			return applied, nil
		}
	}
	return nil, fmt.Errorf("%s: %w", NameOf(o), err)
}

// knows tells whether the cluster has the kind of an object now.
func (a applier) knows(o *unstructured.Unstructured) bool {
	kind := o.GroupVersionKind()
	_, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	return !meta.IsNoMatchError(err)
}

// clientFor waits for a kind that a definition has just brought.
func (a applier) clientFor(ctx context.Context, o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := o.GroupVersionKind()
	var mapping *meta.RESTMapping
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		var err error
		if mapping, err = a.mapper.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
			a.mapper.Reset()
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("the cluster does not know the kind %s: %w", kind.GroupKind(), err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return a.dynamic.Resource(mapping.Resource), nil
	}
	return a.dynamic.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
}

// NameOf is what messages call an object.
func NameOf(o *unstructured.Unstructured) string {
	if o.GetNamespace() == "" {
		return fmt.Sprintf("%s %s", o.GetKind(), o.GetName())
	}
	return fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
}
