package main

import (
	"context"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

type podDefaults struct {
	usable []*merge.Selectable
	// broken are not applied: if an invalid selector denied all pods, one typing error would block the namespace.
	broken []string
}

// store caches the PodDefaults of the cluster, so that admission needs no request to the API server.
type store struct {
	mu sync.RWMutex
	// byNamespace has the PodDefaults by namespace and name; nil for an invalid selector.
	byNamespace map[string]map[string]*merge.Selectable
}

func newStore() *store { return &store{byNamespace: map[string]map[string]*merge.Selectable{}} }

// Follow returns when all PodDefaults are known, and watches them until ctx ends.
func (s *store) Follow(ctx context.Context, env hosting.Environment) error {
	client, err := dynamic.NewForConfig(env.Config)
	if err != nil {
		return err
	}
	_, err = hosting.Watch(ctx, client, v1alpha1.Resource, hosting.ResourceHandler{Updated: s.put, Deleted: s.remove})
	return err
}

// In returns the PodDefaults of a namespace.
func (s *store) In(namespace string) *podDefaults {
	s.mu.RLock()
	defer s.mu.RUnlock()
	found := &podDefaults{}
	for name, selectable := range s.byNamespace[namespace] {
		if selectable == nil {
			found.broken = append(found.broken, name)
		} else {
			found.usable = append(found.usable, selectable)
		}
	}
	slices.Sort(found.broken)
	return found
}

func (s *store) put(u *unstructured.Unstructured) {
	selectable, err := compile(u)
	if err != nil {
		klog.ErrorS(err, "Not applying a PodDefault", "podDefault", klog.KObj(u))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byNamespace[u.GetNamespace()] == nil {
		s.byNamespace[u.GetNamespace()] = map[string]*merge.Selectable{}
	}
	s.byNamespace[u.GetNamespace()][u.GetName()] = selectable
}

func (s *store) remove(deleted cache.ObjectName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byNamespace[deleted.Namespace], deleted.Name)
	if len(s.byNamespace[deleted.Namespace]) == 0 {
		delete(s.byNamespace, deleted.Namespace)
	}
}

func compile(u *unstructured.Unstructured) (*merge.Selectable, error) {
	d := &v1alpha1.PodDefault{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
		return nil, err
	}
	return merge.Compile(d)
}
