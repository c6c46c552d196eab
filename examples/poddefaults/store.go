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

// podDefaults are those of one namespace, as they stood at one instant.
type podDefaults struct {
	usable []*merge.Selectable
	// broken are the names of those whose selector is not valid. They are not applied:
	// were they to deny everything, one mistyped word would stop all pods of the namespace.
	broken []string
}

// store follows the PodDefaults of the cluster, so that to admit a pod costs no call to
// the API server.
type store struct {
	mu sync.RWMutex
	// byNamespace has the PodDefaults of a namespace by their names; a broken one is nil.
	byNamespace map[string]map[string]*merge.Selectable
}

func newStore() *store {
	return &store{byNamespace: map[string]map[string]*merge.Selectable{}}
}

// Follow returns when all PodDefaults are known, and follows them until ctx is done.
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
	there := &podDefaults{}
	for name, selectable := range s.byNamespace[namespace] {
		if selectable == nil {
			there.broken = append(there.broken, name)
		} else {
			there.usable = append(there.usable, selectable)
		}
	}
	slices.Sort(there.broken)
	return there
}

func (s *store) put(u *unstructured.Unstructured) {
	selectable, err := compile(u)
	if err != nil {
		klog.Warningf("PodDefault %s/%s is not applied: %v", u.GetNamespace(), u.GetName(), err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byNamespace[u.GetNamespace()] == nil {
		s.byNamespace[u.GetNamespace()] = map[string]*merge.Selectable{}
	}
	s.byNamespace[u.GetNamespace()][u.GetName()] = selectable
}

func (s *store) remove(gone cache.ObjectName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byNamespace[gone.Namespace], gone.Name)
	if len(s.byNamespace[gone.Namespace]) == 0 {
		delete(s.byNamespace, gone.Namespace)
	}
}

func compile(u *unstructured.Unstructured) (*merge.Selectable, error) {
	d := &v1alpha1.PodDefault{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
		return nil, err
	}
	return merge.Compile(d)
}
