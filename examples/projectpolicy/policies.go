package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
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
	informer cache.SharedIndexInformer
	handled  cache.ResourceEventHandlerRegistration
	status   *statusReporter

	// compiled is nil for a broken policy. Only the informer's handler, which
	// is never called twice at a time, touches it.
	compiled map[string]*policy.Compiled
	current  atomic.Pointer[ruleset]
}

func newPolicyStore(client dynamic.Interface) (*policyStore, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, policy.Resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
	s := &policyStore{
		informer: informer.Informer(),
		status:   newStatusReporter(client.Resource(policy.Resource), informer.Lister()),
		compiled: map[string]*policy.Compiled{},
	}
	s.current.Store(&ruleset{})

	var err error
	s.handled, err = s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    s.put,
		UpdateFunc: func(_, obj any) { s.put(obj) },
		DeleteFunc: s.remove,
	})
	if err != nil {
		return nil, fmt.Errorf("following ProjectPolicies: %w", err)
	}
	err = s.informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		logrus.WithError(err).Warn("Watching ProjectPolicies, trying again")
	})
	if err != nil {
		return nil, fmt.Errorf("following ProjectPolicies: %w", err)
	}
	return s, nil
}

// Run follows the policies and reports on them until ctx is done.
func (s *policyStore) Run(ctx context.Context) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	tasks.Go(func() { s.informer.RunWithContext(ctx) })
	tasks.Go(func() { s.status.Run(ctx) })
}

// Synced says that the policies are not all known yet.
func (s *policyStore) Synced() error {
	if !s.handled.HasSynced() {
		return errors.New("waiting for the list of ProjectPolicies")
	}
	return nil
}

// Snapshot returns the policies as they stand.
func (s *policyStore) Snapshot() *ruleset { return s.current.Load() }

func (s *policyStore) put(obj any) {
	p, err := decodePolicy(obj)
	if err != nil {
		logrus.WithError(err).Error("Ignoring what is not a ProjectPolicy")
		return
	}
	// Why a policy is broken is for its status to say.
	s.compiled[p.Name], _ = policy.Compile(p)
	s.publish()
	s.status.Enqueue(p.Name)
}

func (s *policyStore) remove(obj any) {
	name, err := cache.DeletionHandlingObjectToName(obj)
	if err != nil {
		logrus.WithError(err).Error("Ignoring the deletion of what has no name")
		return
	}
	delete(s.compiled, name.Name)
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

func decodePolicy(obj any) (*policy.ProjectPolicy, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("reading a ProjectPolicy: got a %T", obj)
	}
	p := &policy.ProjectPolicy{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, p); err != nil {
		return nil, fmt.Errorf("reading ProjectPolicy %s: %w", u.GetName(), err)
	}
	return p, nil
}
