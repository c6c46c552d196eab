package integration

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/tools/record"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// The permissions of manifests/with-olm are enough to create and repair the policy. It is deleted with these permissions
// or with the manager.
func TestCRDPolicyIsKept(t *testing.T) {
	e := newEnv(t)
	grant(e)
	role := grantWithOLM(e)
	policies, bindings := e.kube.AdmissionregistrationV1().MutatingAdmissionPolicies(), e.kube.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	noCRDPolicy(e)
	m := manageWith(e, asAccount(), keepingCRDPolicy, allOfTheCluster)
	crdPolicyIsActive(e, true)
	for _, owners := range [][]metav1.OwnerReference{kube.Get(e, policies, crdPolicyName).OwnerReferences, kube.Get(e, bindings, crdPolicyName).OwnerReferences} {
		if len(owners) != 1 || owners[0].UID != role.UID {
			t.Errorf("the owners are %+v, want ClusterRole %s", owners, role.Name)
		}
	}

	checks := func(since int64) (n int) {
		for _, event := range m.audited(since) {
			if event.Verb == "get" && event.ObjectRef != nil && event.ObjectRef.Resource == "mutatingadmissionpolicybindings" {
				n++
			}
		}
		return n
	}
	since := auditEnd(e)
	e.eventually("the policy is checked", func() (bool, any) { n := checks(since); return n >= 3, n })
	none(t, "writes of a policy that nothing changed", lists.Filter(m.writes(since), func(w string) bool { return strings.Contains(w, "mutatingadmissionpolic") }))

	kube.Patch(e, policies, crdPolicyName, types.JSONPatchType, []byte(`[{"op": "replace", "path": "/spec/failurePolicy", "value": "Fail"}, {"op": "remove", "path": "/spec/mutations/1"}]`))
	e.eventually("the policy is repaired", func() (bool, any) {
		spec := kube.Get(e, policies, crdPolicyName).Spec
		return *spec.FailurePolicy == admissionregistrationv1.Ignore && len(spec.Mutations) == 2, spec.FailurePolicy
	})
	for _, deleted := range []deletion{policies, bindings} {
		e.must(deleted.Delete(e.ctx, crdPolicyName, metav1.DeleteOptions{}))
	}
	awaitObject(e, policies, crdPolicyName)
	awaitObject(e, bindings, crdPolicyName)
	m.stop()
	requests := m.audited(m.started)
	noneIsForbidden(e, requests)
	var unused []string
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "mutatingadmissionpolicies") {
			unused = append(unused, unusedOf(rule, requests)...)
		}
	}
	// A patch that creates an object needs create, and OwnerReferencesPermissionEnforcement needs delete.
	expect(t, unused, "create mutatingadmissionpolicies", "create mutatingadmissionpolicybindings", "delete mutatingadmissionpolicies", "delete mutatingadmissionpolicybindings")

	planned, err := uninstall.ManagerPlan(e.ctx, cluster.Config())
	e.must(err)
	installtest.Among(e, planned.Writes, "delete mutatingadmissionpolicybindings.admissionregistration.k8s.io "+crdPolicyName, "delete mutatingadmissionpolicies.admissionregistration.k8s.io "+crdPolicyName)
	e.must(uninstall.Manager(e.ctx, installtest.OrPanic(clients.New(cluster.Config())), logger()))
	if _, err := policies.Get(e.ctx, crdPolicyName, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the policy after the removal of the manager: %v", err)
	}
	crdPolicyIsActive(e, false)
}

type deletion interface {
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

func allOfTheCluster(o *controller.Options) { o.Namespaces = nil }

func keepingCRDPolicy(set clients.Set, caches *informers.Caches, _ record.EventRecorder) olmoperator.Controllers {
	keeper := crdpolicy.New(set.Kube, caches.ClusterRoles, logger())
	keeper.Interval = 50 * time.Millisecond
	return olmoperator.Controllers{keeper}
}

// A policy of the name that another client created stays as it is, also when the manager is removed.
func TestCRDPolicyOfAnotherClient(t *testing.T) {
	e := newEnv(t)
	policies := e.kube.AdmissionregistrationV1().MutatingAdmissionPolicies()
	remove := addMutatingPolicy(e, crdPolicyName, admissionregistrationv1.MutatingAdmissionPolicySpec{
		MatchConstraints: matching([]admissionregistrationv1.OperationType{admissionregistrationv1.Create}, []string{"other.example.com"}, "things"),
		Mutations:        jsonPatch("[JSONPatch{op: 'test', path: '/kind', value: 'Thing'}]"),
	})
	before := kube.Get(e, policies, crdPolicyName)
	m := manageWith(e, cluster.Config(), keepingCRDPolicy, allOfTheCluster)
	since := auditEnd(e)
	e.eventually("the policy is read", func() (bool, any) {
		n := installtest.Count(m.audited(since), func(event auditv1.Event) bool {
			return event.ObjectRef != nil && event.ObjectRef.Resource == "mutatingadmissionpolicies"
		})
		return n >= 2, n
	})
	m.stop()
	e.must(uninstall.Manager(e.ctx, installtest.OrPanic(clients.New(cluster.Config())), logger()))
	same(t, "the version of the policy", kube.Get(e, policies, crdPolicyName).ResourceVersion, before.ResourceVersion)
	remove()
}

// grantWithOLM gives the manager's account what manifests/with-olm adds.
func grantWithOLM(e *env) *rbacv1.ClusterRole {
	e.Helper()
	role, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	for file, into := range map[string]any{"clusterrole.yaml": role, "binding.yaml": binding} {
		text, err := os.ReadFile("../../manifests/with-olm/" + file)
		e.must(err)
		e.must(yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(into))
	}
	created := kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoles(), role)
	kube.CreateTemporary(e, e.kube.RbacV1().ClusterRoleBindings(), binding)
	own, _ := typedClients(e.T, asAccount())
	e.eventually("the account may do what it is granted", func() (bool, any) {
		_, err := own.AdmissionregistrationV1().MutatingAdmissionPolicies().Get(e.ctx, crdPolicyName, metav1.GetOptions{})
		return !apierrors.IsForbidden(err), err
	})
	return created
}

// What another client adds to the policy or to its binding can make it ineffective, and is removed. The manager does not
// fight without limit.
func TestCRDPolicyThatOthersExtend(t *testing.T) {
	e := newEnv(t)
	policies, bindings := e.kube.AdmissionregistrationV1().MutatingAdmissionPolicies(), e.kube.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	noCRDPolicy(e)
	m := manageWith(e, cluster.Config(), keepingCRDPolicy, allOfTheCluster)
	crdPolicyIsActive(e, true)
	never := []byte(`[{"op": "add", "path": "/spec/matchConditions/-", "value": {"name": "never", "expression": "false"}}]`)
	conditions := len(kube.Get(e, policies, crdPolicyName).Spec.MatchConditions)
	repaired := func() (bool, any) {
		now := kube.Get(e, policies, crdPolicyName).Spec.MatchConditions
		return len(now) == conditions, now
	}
	kube.Patch(e, policies, crdPolicyName, types.JSONPatchType, never)
	e.eventually("the condition is removed", repaired)
	kube.Patch(e, bindings, crdPolicyName, types.MergePatchType, []byte(`{"spec": {"matchResources": {"objectSelector": {"matchLabels": {"never": "true"}}}}}`))
	e.eventually("the selector is removed", func() (bool, any) {
		resources := kube.Get(e, bindings, crdPolicyName).Spec.MatchResources
		return resources == nil || len(resources.ObjectSelector.MatchLabels) == 0, resources
	})
	crdPolicyIsActive(e, true)

	since := auditEnd(e)
	e.eventually("the manager does not repair it again", func() (bool, any) {
		if is, seen := repaired(); !is {
			return true, seen
		}
		kube.Patch(e, policies, crdPolicyName, types.JSONPatchType, never)
		err := wait.PollUntilContextTimeout(e.ctx, 20*time.Millisecond, time.Second, true, func(context.Context) (bool, error) { is, _ := repaired(); return is, nil })
		return err != nil, "repaired"
	})
	writes := lists.Filter(m.writes(since), func(w string) bool { return strings.Contains(w, "mutatingadmissionpolicies") })
	if len(writes) == 0 || len(writes) > 10 {
		t.Errorf("%d repairs: %v", len(writes), writes)
	}
	m.stop()
	e.must(uninstall.Manager(e.ctx, installtest.OrPanic(clients.New(cluster.Config())), logger()))
	crdPolicyIsActive(e, false)
}
