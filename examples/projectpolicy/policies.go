package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

// ruleset is a snapshot of the policies, sorted by name. A broken policy is not enforced: if it
// denied all namespaces, one typing error would block the cluster.
type ruleset struct {
	inForce []*policy.Compiled
	broken  []string
}

// policyStore caches the ProjectPolicies of the cluster, so that admission needs no request to the API server.
type policyStore struct {
	// compiled is nil for a broken policy. put and remove are never called concurrently.
	compiled map[string]*policy.Compiled
	current  atomic.Pointer[ruleset]
}

func newPolicyStore() *policyStore {
	s := &policyStore{compiled: map[string]*policy.Compiled{}}
	s.current.Store(&ruleset{})
	return s
}

// Follow returns when all policies are known. It watches them, and writes their statuses, until ctx ends.
func (s *policyStore) Follow(ctx context.Context, client dynamic.Interface) error {
	report := &statusReporter{policies: client.Resource(policy.Resource)}
	reports := hosting.NewWorklist("report on ProjectPolicy", report.reconcile)
	lister, err := hosting.Watch(ctx, client, policy.Resource, hosting.ResourceHandler{
		Updated: func(object *unstructured.Unstructured) {
			s.put(object)
			reports.Add(cache.MetaObjectToName(object))
		},
		Deleted: s.remove,
	})
	if err != nil {
		return err
	}
	report.lister = lister
	go reports.Run(ctx)
	return nil
}

// Snapshot returns the current policies.
func (s *policyStore) Snapshot() *ruleset { return s.current.Load() }

func (s *policyStore) put(object *unstructured.Unstructured) {
	p, err := decodePolicy(object)
	if err != nil {
		klog.ErrorS(err, "Ignoring a ProjectPolicy that cannot be decoded")
		return
	}
	// The status has the reason why a policy is broken.
	s.compiled[p.Name], _ = policy.Compile(p)
	s.publish()
}

func (s *policyStore) remove(deleted cache.ObjectName) {
	delete(s.compiled, deleted.Name)
	s.publish()
}

func (s *policyStore) publish() {
	rules := &ruleset{}
	for _, name := range slices.Sorted(maps.Keys(s.compiled)) {
		if compiled := s.compiled[name]; compiled != nil {
			rules.inForce = append(rules.inForce, compiled)
		} else {
			rules.broken = append(rules.broken, name)
		}
	}
	s.current.Store(rules)
}

func decodePolicy(object *unstructured.Unstructured) (*policy.ProjectPolicy, error) {
	p := &policy.ProjectPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, p); err != nil {
		return nil, fmt.Errorf("reading ProjectPolicy %s: %w", object.GetName(), err)
	}
	return p, nil
}
