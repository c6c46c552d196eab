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

// ruleset is the policies as they stood at one instant, ordered by name. A
// broken policy is not enforced: were it to deny everything, one mistyped
// character would stop every new namespace of the cluster.
type ruleset struct {
	inForce []*policy.Compiled
	broken  []string
}

// policyStore follows the ProjectPolicies of the cluster, so that judging a
// namespace costs no call to the API server.
type policyStore struct {
	// compiled is nil for a broken policy. Only put and remove touch it, which
	// are never called two at a time.
	compiled map[string]*policy.Compiled
	current  atomic.Pointer[ruleset]
}

func newPolicyStore() *policyStore {
	s := &policyStore{compiled: map[string]*policy.Compiled{}}
	s.current.Store(&ruleset{})
	return s
}

// Follow returns when all policies are known. Until ctx is done it follows
// them, and reports on them.
func (s *policyStore) Follow(ctx context.Context, client dynamic.Interface) error {
	report := &statusReporter{policies: client.Resource(policy.Resource)}
	reports := hosting.NewWorklist("Reporting on ProjectPolicy", report.look)
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

// Snapshot returns the policies as they stand.
func (s *policyStore) Snapshot() *ruleset { return s.current.Load() }

func (s *policyStore) put(object *unstructured.Unstructured) {
	p, err := decodePolicy(object)
	if err != nil {
		klog.Errorf("Ignoring what is not a ProjectPolicy: %v", err)
		return
	}
	// Why a policy is broken is for its status to say.
	s.compiled[p.Name], _ = policy.Compile(p)
	s.publish()
}

func (s *policyStore) remove(gone cache.ObjectName) {
	delete(s.compiled, gone.Name)
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
