package main

import (
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/operatortest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestPoliciesFollowTheCluster(t *testing.T) {
	client := newClient(object("b-teams", 1, "b.*"), object("a-names", 1, "a.*"))
	store := follow(t, client)
	// The order is by name, so that replicas give the same answer.
	installtest.Same(t, "the policies broken by a namespace when Follow has returned", []string{"a-names", "b-teams"}, brokenBy(store, "c"))

	wantBroken := func(name string, want ...string) {
		t.Helper()
		operatortest.Eventually(t, "the policies broken by namespace "+name, func() bool {
			return cmp.Equal(want, brokenBy(store, name), cmpopts.EquateEmpty())
		})
	}
	wantBroken("alpha", "b-teams")

	update(t, client, object("b-teams", 2, "[ab].*"))
	wantBroken("alpha")

	update(t, client, object("b-teams", 3, "a(b"))
	operatortest.Eventually(t, "the policy is known to be broken", func() bool { return cmp.Equal([]string{"b-teams"}, store.Snapshot().broken) })
	wantBroken("c", "a-names")

	installtest.Must(t, client.Resource(policy.Resource).Delete(t.Context(), "b-teams", metav1.DeleteOptions{}))
	operatortest.Eventually(t, "the deleted policy is forgotten", func() bool { return len(store.Snapshot().broken) == 0 })
	wantBroken("c", "a-names")
}

func TestStatusSaysWhetherAPolicyIsEnforced(t *testing.T) {
	client := newClient(object("broken", 3, "a(b"), object("valid", 5, "a"))
	follow(t, client)

	ignoreTime := cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime")
	for name, want := range map[string]metav1.Condition{
		"broken": {
			Type: "Valid", Status: metav1.ConditionFalse, Reason: "InvalidPattern", ObservedGeneration: 3,
			Message: "The whole policy is skipped until this is corrected: spec.namePattern: error parsing regexp: missing closing ): `a(b`",
		},
		"valid": {
			Type: "Valid", Status: metav1.ConditionTrue, Reason: "Enforced", ObservedGeneration: 5,
			Message: "All patterns are valid; the policy is enforced.",
		},
	} {
		operatortest.Eventually(t, "the status of "+name, func() bool { return len(conditions(t, client, name)) > 0 })
		installtest.Same(t, "conditions of "+name, []metav1.Condition{want}, conditions(t, client, name), ignoreTime)
	}
}

// The API server refuses the second write of the same status, and the retry finds nothing to write.
func TestStatusIsWrittenOnceByTwoReplicas(t *testing.T) {
	client := newClient(object("names", 1, "a"))
	var written atomic.Int32
	client.PrependReactor("update", "projectpolicies", func(clienttesting.Action) (bool, runtime.Object, error) {
		if written.Add(1) == 1 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(policy.Resource.GroupResource(), "names", nil)
	})
	lister := func() cache.GenericLister {
		lister, err := hosting.Watch(t.Context(), client, policy.Resource, hosting.ResourceHandler{Updated: func(*unstructured.Unstructured) {}})
		installtest.Must(t, err)
		return lister
	}
	name := cache.ObjectName{Name: "names"}
	replicas := []*statusReporter{
		{policies: client.Resource(policy.Resource), lister: lister()},
		{policies: client.Resource(policy.Resource), lister: lister()},
	}
	installtest.Must(t, replicas[0].reconcile(t.Context(), name))
	operatortest.Eventually(t, "the second replica sees what the first has written", func() bool { return replicas[1].reconcile(t.Context(), name) == nil })
	if len(conditions(t, client, "names")) != 1 {
		t.Errorf("conditions are %v", conditions(t, client, "names"))
	}
}

func TestIsReported(t *testing.T) {
	now := metav1.Condition{Type: "Valid", Status: metav1.ConditionFalse, ObservedGeneration: 2, Message: "new words"}
	for name, test := range map[string]struct {
		there []metav1.Condition
		want  bool
	}{
		"nothing":                 {},
		"another condition":       {there: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, ObservedGeneration: 2}}},
		"the generation before":   {there: []metav1.Condition{{Type: "Valid", Status: metav1.ConditionFalse, ObservedGeneration: 1}}},
		"the other verdict":       {there: []metav1.Condition{{Type: "Valid", Status: metav1.ConditionTrue, ObservedGeneration: 2}}},
		"the same in other words": {there: []metav1.Condition{{Type: "Valid", Status: metav1.ConditionFalse, ObservedGeneration: 2, Message: "old words"}}, want: true},
	} {
		installtest.Same(t, name+": it is reported", test.want, isReported(test.there, now))
	}
}

// newClient returns a client that refuses a status with an old resourceVersion, like an API server.
func newClient(policies ...runtime.Object) *fake.FakeDynamicClient {
	kinds := map[schema.GroupVersionResource]string{policy.Resource: "ProjectPolicyList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, policies...)
	client.PrependReactor("update", "projectpolicies/status", func(action clienttesting.Action) (bool, runtime.Object, error) {
		written := action.(clienttesting.UpdateAction).GetObject().(*unstructured.Unstructured)
		live, err := client.Tracker().Get(policy.Resource, "", written.GetName())
		if err == nil && live.(*unstructured.Unstructured).GetGeneration() != written.GetGeneration() {
			err = apierrors.NewConflict(policy.Resource.GroupResource(), written.GetName(), nil)
		}
		return err != nil, nil, err
	})
	return client
}

func object(name string, generation int64, namePattern string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": policy.Resource.GroupVersion().String(),
		"kind":       "ProjectPolicy",
		"metadata":   map[string]any{"name": name, "generation": generation},
		"spec":       map[string]any{"namePattern": namePattern},
	}}
}

func follow(t *testing.T, client *fake.FakeDynamicClient) *policyStore {
	t.Helper()
	store := newPolicyStore()
	installtest.Must(t, store.Follow(t.Context(), client))
	return store
}

func brokenBy(store *policyStore, namespace string) []string {
	var names []string
	for _, violation := range policy.Check(policy.Namespace{Name: namespace}, store.Snapshot().inForce) {
		names = append(names, violation.Policy)
	}
	return names
}

func update(t *testing.T, client *fake.FakeDynamicClient, obj *unstructured.Unstructured) {
	t.Helper()
	_, err := client.Resource(policy.Resource).Update(t.Context(), obj, metav1.UpdateOptions{})
	installtest.Must(t, err)
}

func conditions(t *testing.T, client *fake.FakeDynamicClient, name string) []metav1.Condition {
	t.Helper()
	obj, err := client.Resource(policy.Resource).Get(t.Context(), name, metav1.GetOptions{})
	installtest.Must(t, err)
	p, err := decodePolicy(obj)
	installtest.Must(t, err)
	return p.Status.Conditions
}
