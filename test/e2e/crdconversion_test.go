package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// ADR034: Caches are read and written in both versions without loss, through upgrades, a rotation, the loss of all
// pods, a deletion in the foreground and the downgrade.
func TestCRDConversion(t *testing.T) {
	t.Parallel()
	const files, crd = "examples/crdconversion", "caches.crdconversion.example.com"
	e := newExample(t, "crdconversion", files+"/install")
	e.kubectl("apply", "--server-side", "-k", files+"/install")
	client := &caches.Client{Dynamic: dynamicClient, Namespace: "default"} // where the samples are

	applyBundle(e, files+"/bundle-v1", "crdconversion.v1.0.0")
	// It is deleted while there is a webhook to convert what is deleted with it.
	e.Cleanup(func() { e.kubectl("delete", "crd", crd, "--wait", "--ignore-not-found") })
	e.kubectl("apply", "-f", files+"/samples/cache-v1.yaml")
	reportsMemory(e, client, "sessions", "1536Mi")

	readers := calls.Start(e, 20*time.Millisecond, client.Reads(t, caches.Authored, []schema.GroupVersion{convert.V1}, "sessions"))
	readers.GoesOn(calls.Converted)
	applyBundle(e, files+"/bundle-v2", "crdconversion.v2.0.0") // which replaces it
	isGone(e, "crdconversion.v1.0.0")
	e.eventually("both versions are served", func() (bool, any) {
		for _, version := range caches.Versions {
			if err := client.TryDryRun(t, version); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	readers.GoesOn(calls.Converted)
	readers.End(calls.Never)
	client.RoundTrips(t, 50)
	e.kubectl("apply", "-f", files+"/samples/cache-v2.yaml")
	reportsMemory(e, client, "pages", "2Gi")

	load := calls.Start(e, 20*time.Millisecond, client.Reads(t, caches.Content, caches.Versions, "sessions", "pages"))
	load.GoesOn(calls.Converted)
	e.create(nextRelease(e, "crdconversion.v2.0.0", "crdconversion.v2.1.0"))
	e.succeeds("crdconversion.v2.1.0")
	isGone(e, "crdconversion.v2.0.0")
	e.order("crdconversion.v2.1.0", "once")
	e.rotates("crdconversion.v2.1.0", 2)
	kill(e, "crdconversion-operator")
	load.GoesOn(calls.Converted)
	load.End(calls.Never)

	installtest.Same(t, "the gap before there was one", nil, conversionOf(e, "crdconversion.v2.1.0").LastGap)
	e.kubectl("replace", "-f", files+"/bundle-v2/manifests/crdconversion.example.com_caches.yaml")
	tellsOfTheGap(e, "crdconversion.v2.1.0")
	client.RoundTrips(t, 10)
	goesBack(e, client, files, crd)
	goesInTheForeground(e, client, files, crd)
}

// tellsOfTheGap waits until the WebhookRollout reports how long its definition had no conversion. Field ownership shows
// who wrote a field, and not who removed one, as the caBundle here.
func tellsOfTheGap(e *env, csv string) {
	e.Helper()
	e.eventually("the conversion is back, and the gap is reported", func() (bool, any) {
		w := conversionOf(e, csv)
		if w.LastGap == nil || w.LastGap.EndTime == nil || w.State != managerv1alpha1.WebhookRegistered {
			return false, w
		}
		e.Logf("%v went without their conversion for %s, by %q", w.LastGap.CRDs, w.LastGap.EndTime.Sub(w.LastGap.StartTime.Time), w.LastGap.By)
		return true, nil
	})
}

func conversionOf(e *env, csv string) managerv1alpha1.WebhookStatus {
	e.Helper()
	rollout := kube.Get(e, olmClient.WebhookRollouts(e.namespace), csv)
	for _, d := range rollout.Status.Deployments {
		for _, w := range d.Webhooks {
			if w.Type == operatorsv1alpha1.ConversionWebhook {
				return w
			}
		}
	}
	e.Fatalf("the WebhookRollout of %s reports no conversion webhook: %+v", csv, rollout.Status)
	return managerv1alpha1.WebhookStatus{}
}

// nextRelease is a ClusterServiceVersion like another, which it replaces, and whose pods are others.
func nextRelease(e *env, before, name string) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	installed := e.get(before)
	next := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *installed.Spec.DeepCopy()}
	next.Spec.Replaces = before
	for i := range next.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for j := range next.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[i].Spec.Template.Spec.Containers {
			container := &next.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[i].Spec.Template.Spec.Containers[j]
			container.Env = append(container.Env, corev1.EnvVar{Name: "RELEASE", Value: name})
		}
	}
	return next
}

// goesBack follows the README's downgrade to the version without a webhook, with a thousand Caches more. No field is
// lost.
func goesBack(e *env, client *caches.Client, files, crd string) {
	e.Helper()
	client.Fill(e.T, 1000)
	before := client.All(e.T, convert.V1, caches.Authored)
	if len(before) != 1002 {
		e.Fatalf("there are %d Caches, want a thousand and the two samples", len(before))
	}

	e.migrate(crd, "--to", "v1")
	e.kubectl("replace", "-f", files+"/bundle-v1/manifests/crdconversion.example.com_caches.yaml")
	e.kubectl("delete", "-n", e.namespace, "csv/crdconversion.v2.1.0", "--wait")
	e.kubectl("apply", "--server-side", "-n", e.namespace, "-f", files+"/bundle-v1/manifests/crdconversion.clusterserviceversion.yaml")
	e.succeeds("crdconversion.v1.0.0")

	if diff := cmp.Diff(before, client.All(e.T, convert.V1, caches.Authored)); diff != "" {
		e.Errorf("Caches after the way back (-before +after):\n%.2000s", diff)
	}
	// The operator of v1 is at work: it accepts the change that only it can have observed.
	e.kubectl("patch", "caches.v1.crdconversion.example.com/pages", "-n", "default", "--type=merge", "-p", `{"spec":{"size":"5x1Gi"}}`)
	reportsMemory(e, client, "pages", "5Gi")
}

// manager runs the manager's program as an administrator does, from this source.
func (e *env) manager(arguments ...string) {
	e.Helper()
	(&terminal{env: e}).works("", arguments...)
}

func isGone(e *env, csv string) {
	e.Helper()
	e.eventually(csv+" no longer exists", func() (bool, any) {
		live, err := olmClient.ClusterServiceVersions(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		return apierrors.IsNotFound(err), live.Status.Message
	})
}

func reportsMemory(e *env, client *caches.Client, name, want string) {
	e.Helper()
	becomes(e, "the operator reports on Cache "+name, func() string {
		memory, _, err := unstructured.NestedString(client.Get(e.T, convert.V1, name).Object, "status", "memory")
		e.must(err)
		return memory
	}, want)
}

// goesInTheForeground upgrades again and deletes the operator in the foreground. What converts stays until the Caches
// are migrated; then nothing is left.
func goesInTheForeground(e *env, client *caches.Client, files, crd string) {
	e.Helper()
	const csv, converter = "crdconversion.v2.0.0", "crdconversion-webhook"
	e.kubectl("replace", "-f", files+"/bundle-v2/manifests/crdconversion.example.com_caches.yaml")
	e.kubectl("apply", "--server-side", "-n", e.namespace, "-f", files+"/bundle-v2/manifests/crdconversion.clusterserviceversion.yaml")
	e.succeeds(csv)
	isGone(e, "crdconversion.v1.0.0")
	ownAccount(e, csv, converter) // as catalogs do

	load := calls.Start(e, 20*time.Millisecond, client.Reads(e.T, caches.Content, caches.Versions, "sessions", "pages"))
	load.GoesOn(calls.Converted)
	e.kubectl("delete", "-n", e.namespace, "csv/"+csv, "--cascade=foreground", "--wait=false")
	e.eventually("the garbage collector is done, and the operator reports what holds it", func() (bool, any) {
		c := e.get(csv)
		return slices.Equal(c.Finalizers, []string{wellknown.FinalizerCSV}) && c.Status.Phase == operatorsv1alpha1.CSVPhaseDeleting &&
			strings.Contains(c.Status.Message, "describe webhookrollouts "+csv) && strings.Contains(inUse(e, csv), "storage migrate "+crd+" --to v2"), c.Status.Message
	})
	load.GoesOn(calls.Converted)
	e.rolledOut(converter) // the pods of the version before have ended
	e.kubectl("delete", "pod", "-n", e.namespace, podsOf(e, converter)[0].Name)
	e.rolledOut(converter) // its account exists
	e.migrate(crd, "--to", "v2")
	load.GoesOn(calls.Converted)
	load.End(calls.Never)
	installtest.Same(e, "Caches", 1002, len(client.All(e.T, convert.V2, caches.Authored)))

	e.kubectl("patch", "crd", crd, "--type=json", "-p", `[{"op":"test","path":"/spec/versions/0/name","value":"v1"},{"op":"replace","path":"/spec/versions/0/served","value":false}]`)
	e.eventually(csv+" no longer exists, and with it all that was its own", func() (bool, any) {
		_, err := olmClient.ClusterServiceVersions(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		_, account := kubeClient.CoreV1().ServiceAccounts(e.namespace).Get(e.ctx, converter, metav1.GetOptions{})
		left := labelled(e)
		return apierrors.IsNotFound(err) && apierrors.IsNotFound(account) && len(left) == 0, left
	})
}

// inUse is what a WebhookRollout reports of conversions that objects need; empty if the WebhookRollout does not exist. The
// garbage collector deletes it in the foreground, and the manager creates it again.
func inUse(e *env, csv string) string {
	e.Helper()
	rollout, err := olmClient.WebhookRollouts(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	e.must(err)
	if c := meta.FindStatusCondition(rollout.Status.Conditions, managerv1alpha1.ConditionConversionInUse); c != nil {
		return c.Message
	}
	return ""
}

// ownAccount has a ServiceAccount deleted with a ClusterServiceVersion, and waits until the definition keeps it.
func ownAccount(e *env, csv, account string) {
	e.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": []metav1.OwnerReference{{
		APIVersion: operatorsv1alpha1.ClusterServiceVersionAPIVersion, Kind: operatorsv1alpha1.ClusterServiceVersionKind, Name: csv, UID: e.get(csv).UID,
	}}}})
	e.must(err)
	client := kubeClient.CoreV1().ServiceAccounts(e.namespace)
	kube.Patch(e, client, account, types.MergePatchType, patch)
	e.eventually("it is kept", func() (bool, any) {
		a := kube.Get(e, client, account)
		return len(a.OwnerReferences) == 2, a.OwnerReferences
	})
}
