package e2e

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// TestManagerUpgrade upgrades each version in hack/released.txt to the manager of this tree, goes back, and upgrades
// again, as docs/admin/upgrade.md describes. Both versions rotate certificates. No call of a webhook, a conversion or an
// API fails, every object of the operators stays, and no version reports an error.
func TestManagerUpgrade(t *testing.T) {
	tree := managerVersion{"this tree", "../..", deployed}
	for _, released := range releasedVersions(t) {
		t.Run(released.name, func(t *testing.T) {
			u := newManagerUpgrade(t, tree, released)
			load := calls.Start(u, between, u.callsEach())
			load.GoesOn(calls.Denied)

			u.changes(released, tree)
			u.rotates(2)
			u.changes(tree, released)
			u.rotates(3)
			u.changes(released, tree)
			load.GoesOn(calls.Denied)
			load.End(calls.Never)
			u.reportsNoError()
		})
	}
}

// managerUpgrade has operators with a webhook of each kind, an API and a conversion.
type managerUpgrade struct {
	*env   // of the operator with the webhook that denies ConfigMaps, and the API
	caches *storedCache
	pods   *env // of the operator that changes pods
	logs   managerLogs
}

// newManagerUpgrade installs a released version in place of the manager of this tree, and then the operators. The manager
// of this tree is installed again in the end.
func newManagerUpgrade(t *testing.T, tree, released managerVersion) *managerUpgrade {
	t.Helper()
	const podFiles, notebooks = "examples/poddefaults", "examples/poddefaults/samples/namespace.yaml"
	u := &managerUpgrade{env: newEnv(t)}
	u.Cleanup(func() { u.kubectl("delete", "-f", notebooks, "--ignore-not-found") })
	u.pods = newExample(t, "poddefaults", podFiles)
	u.Cleanup(u.bringManagerBack)
	replaces(u.env, tree, released)

	u.create(owningAPI(hookCSV("hook.v1", draining(server("hook", "--reload")))))
	u.kubectl("apply", "-f", notebooks) // An OperatorGroup selects it: a later change of its targets would restart pods.
	u.kubectl("apply", "--server-side", "-k", podFiles)
	u.caches = storesACache(u.env)
	u.works()
	u.kubectl("apply", "-f", podFiles+"/samples/poddefault.yaml")
	answersInARow(u.env, calls.Converted, u.changesAPod) // One of the two servers may observe the PodDefault later.
	u.began = metav1.Now()
	return u
}

// callsEach returns a function that calls one registration after the other.
func (u *managerUpgrade) callsEach() func(context.Context) calls.Call {
	var made atomic.Int64
	all := []func(context.Context) calls.Call{
		func(ctx context.Context) calls.Call { return u.call(ctx, true) },
		u.asksItsAPI,
		u.changesAPod,
		u.caches.client.Reads(u.T, caches.Content, caches.Versions, "sessions"),
	}
	return func(ctx context.Context) calls.Call { return all[int(made.Add(1))%len(all)](ctx) }
}

// changesAPod asks for a pod that the operator poddefaults changes, without one being stored.
func (u *managerUpgrade) changesAPod(ctx context.Context) calls.Call {
	c := calls.Call{Sent: time.Now(), Outcome: calls.Converted}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "load-", Labels: map[string]string{"add-gcp-secret": "true"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "notebook", Image: hookImage}}},
	}
	var created *corev1.Pod
	created, c.Err = kubeClient.CoreV1().Pods("notebooks").Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	c.Answered = time.Now()
	switch {
	case c.Err != nil:
		c.Outcome = calls.Failed
	case len(created.Spec.Volumes) < 2: // One is that of the ServiceAccount.
		c.Outcome = calls.Uncovered
	}
	return c
}

// changes replaces one version of the manager by another, and waits until all registrations are live.
func (u *managerUpgrade) changes(from, to managerVersion) {
	u.Helper()
	began := time.Now()
	before := u.identities()
	replaces(u.env, from, to)
	u.works()
	u.Logf("%s leads %s after the first command of the upgrade from %s", to.name, time.Since(began).Round(100*time.Millisecond), from.name)
	u.migrate("webhookrollouts.olm-webhook-manager.io")
	u.retains(before)
}

// works waits until the manager has reconciled the ClusterServiceVersions, and everything that they declare is live.
func (u *managerUpgrade) works() {
	u.Helper()
	(&env{T: u.T, ctx: u.ctx, namespace: managerNamespace}).rolledOut(managerDeployment)
	managerWorks(u.env)
	for e, csv := range u.operators() {
		e.succeeds(csv)
		e.eventually("everything of "+csv+" is live", func() (bool, any) {
			status := kube.Get(e, olmClient.WebhookRollouts(e.namespace), csv).Status
			return meta.IsStatusConditionTrue(status.Conditions, managerv1alpha1.ConditionReady) && status.ReadyRegistrations == status.Registrations, status
		})
	}
	u.logs.follow(u.env)
	u.manager("doctor")
}

func (u *managerUpgrade) operators() map[*env]string {
	return map[*env]string{u.env: "hook.v1", u.pods: "poddefaults.v0.1.0", u.caches.env: "crdconversion.v2.0.0"}
}

func (u *managerUpgrade) rotates(generation int64) {
	u.Helper()
	began := time.Now()
	before := u.identities()
	for e, csv := range u.operators() {
		e.order(csv, fmt.Sprint(generation))
	}
	for e, csv := range u.operators() {
		e.rotates(csv, generation)
	}
	u.Logf("all certificates are rotated after %s", time.Since(began).Round(100*time.Millisecond))
	u.retains(before)
}

// identities returns the uids of the registrations, the definitions, and all objects in the namespaces of the operators.
func (u *managerUpgrade) identities() map[string]types.UID {
	u.Helper()
	namespaces := map[string]bool{}
	for e := range u.operators() {
		namespaces[e.namespace] = true
	}
	all := map[string]types.UID{}
	for key, content := range u.snapshot() {
		o := unstructured.Unstructured{Object: content}
		labels := o.GetLabels()
		isDefinition := strings.HasPrefix(key, "customresourcedefinitions.")
		if labels[wellknown.LabelCanary] == "" && (isDefinition || namespaces[o.GetNamespace()] || namespaces[labels[wellknown.LabelOwnerNamespace]]) {
			all[key] = o.GetUID()
		}
	}
	return all
}

// retains fails if an object was deleted or recreated. Others may be new.
func (u *managerUpgrade) retains(before map[string]types.UID) {
	u.Helper()
	now := u.identities()
	maps.DeleteFunc(now, func(key string, _ types.UID) bool { return before[key] == "" })
	if diff := cmp.Diff(before, now); diff != "" {
		u.Errorf("objects were deleted or recreated (-before +now):\n%s", diff)
	}
}

// reportsNoError checks the events and the logs of all managers since the beginning of the test.
func (u *managerUpgrade) reportsNoError() {
	u.Helper()
	for _, event := range kube.List(u, kubeClient.CoreV1().Events(""), metav1.ListOptions{}).Items {
		if event.Source.Component == wellknown.FieldManager && event.Type == corev1.EventTypeWarning && !event.LastTimestamp.Before(&u.began) {
			u.Errorf("event %s of %s %s/%s: %s", event.Reason, event.InvolvedObject.Kind, event.Namespace, event.InvolvedObject.Name, event.Message)
		}
	}
	for _, line := range u.logs.errors() {
		u.Errorf("the manager logs %s", line)
	}
}
