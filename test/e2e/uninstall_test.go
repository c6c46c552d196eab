package e2e

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// An uninstalled operator leaves nothing, and its removal costs no call: its webhook is
// unregistered before its pods end.
func TestUninstallUnderLoad(t *testing.T) {
	e := newBareEnv(t)
	before := e.restingCluster()
	group(e)
	e.create(hookCSV("hook.v1", server("hook")))
	e.succeeds("hook.v1")
	if made := e.derived(); len(made) < 7 {
		t.Errorf("the manager made %q, which are fewer than there must be: does this test find anything?", made)
	}

	load := e.startLoad()
	load.GoesOn(calls.Denied)
	deleted := time.Now()
	e.uninstall("hook.v1")
	becomes(e, "its pods no longer exist", func() int {
		return len(kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{}).Items)
	}, 0)
	load.GoesOn(calls.Uncovered)
	load.End(calls.UncoveredSince(deleted))

	e.must(olmClient.OperatorGroups(e.namespace).Delete(e.ctx, "own", metav1.DeleteOptions{}))
	e.clusterIs(before)
}

// An operator that is deleted with its Namespace does not block the deletion of the Namespace, nor
// does its webhook outlive it.
func TestNamespaceDeleted(t *testing.T) {
	t.Parallel()
	e := newHookEnv(t)
	removeNamespace(e)
}

// However the deletion cascades, the webhook is deleted first, and nothing is left except what was to
// be orphaned: the operator, whose pods continue to run.
func TestUninstallCascades(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		policy metav1.DeletionPropagation
		left   []string
	}{
		{metav1.DeletePropagationBackground, nil},
		{metav1.DeletePropagationForeground, nil},
		{metav1.DeletePropagationOrphan, []string{
			"deployments.apps", "operatorconditions.operators.coreos.com", "rolebindings.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
			"roles.rbac.authorization.k8s.io", "roles.rbac.authorization.k8s.io", "secrets", "services",
		}},
	} {
		t.Run(string(test.policy), func(t *testing.T) {
			t.Parallel()
			e := newHookEnv(t)
			client := olmClient.ClusterServiceVersions(e.namespace)
			e.must(client.Delete(e.ctx, "hook.v1", metav1.DeleteOptions{PropagationPolicy: &test.policy}))
			isGone(e, "hook.v1")
			installtest.None(t, "registered", e.registrations())
			becomes(e, "nothing is left but what was to be", func() []string { return labelled(e) }, test.left)
			if len(test.left) > 0 {
				e.rolledOut("hook")
			}
		})
	}
}

// labelled are the kinds of objects in the Namespace that have the labels of an owner,
// whether they still have one or not.
func labelled(e *env) []string {
	e.Helper()
	var kinds []string
	for _, kind := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "services"}, {Version: "v1", Resource: "secrets"}, {Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
		{Group: "olm-webhook-manager.io", Version: "v1alpha1", Resource: "webhookrollouts"}, {Group: "operators.coreos.com", Version: "v2", Resource: "operatorconditions"},
	} {
		list := kube.List(e, dynamicClient.Resource(kind).Namespace(e.namespace), metav1.ListOptions{LabelSelector: wellknown.LabelOwnerNamespace + "=" + e.namespace})
		for range list.Items {
			kinds = append(kinds, kind.GroupResource().String())
		}
	}
	slices.Sort(kinds)
	return kinds
}
