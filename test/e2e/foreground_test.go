package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// goesInTheForeground upgrades again and deletes the operator in the foreground. What converts stays until the Caches
// are migrated; then nothing is left.
func goesInTheForeground(e *env, client *caches.Client, files, crd string) {
	e.Helper()
	const csv, converter = "crdconversion.v2.0.0", "crdconversion-webhook"
	e.kubectl("replace", "-f", files+"/bundle-v2/manifests/crdconversion.example.com_caches.yaml")
	e.kubectl("apply", "--server-side", "-n", e.namespace, "-f", files+"/bundle-v2/manifests/crdconversion.clusterserviceversion.yaml")
	e.succeeds(csv)
	isReplaced(e, "crdconversion.v1.0.0")
	ownAccount(e, csv, converter) // as catalogs do

	load := e.startLoadOf(20*time.Millisecond, readsCaches(e, client, caches.Content, caches.Versions, "sessions", "pages"))
	load.goesOn(converted)
	e.kubectl("delete", "-n", e.namespace, "csv/"+csv, "--cascade=foreground", "--wait=false")
	e.eventually("the garbage collector is done, and the operator reports what holds it", func() (bool, any) {
		c := e.get(csv)
		return slices.Equal(c.Finalizers, []string{wellknown.FinalizerCSV}) && c.Status.Phase == operatorsv1alpha1.CSVPhaseDeleting &&
			strings.Contains(c.Status.Message, "describe webhookrollouts "+csv) && strings.Contains(inUse(e, csv), "storage migrate "+crd+" --to v2"), c.Status.Message
	})
	load.goesOn(converted)
	e.rolledOut(converter) // the pods of the version before have ended
	e.kubectl("delete", "pod", "-n", e.namespace, podsOf(e, converter)[0].Name)
	e.rolledOut(converter) // its account exists
	e.manager("storage", "migrate", crd, "--to", "v2", "--api-server-request-timeout=5s")
	load.goesOn(converted)
	load.end(never)
	if found := client.All(e.T, convert.V2, caches.Authored); len(found) != 1002 {
		e.Errorf("there are %d Caches, want 1002", len(found))
	}

	e.kubectl("patch", "crd", crd, "--type=json", "-p", `[{"op":"test","path":"/spec/versions/0/name","value":"v1"},{"op":"replace","path":"/spec/versions/0/served","value":false}]`)
	e.eventually(csv+" no longer exists, and with it all that was its own", func() (bool, any) {
		_, err := olmClient.ClusterServiceVersions(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		_, account := kubeClient.CoreV1().ServiceAccounts(e.namespace).Get(e.ctx, converter, metav1.GetOptions{})
		left := labelled(e)
		return apierrors.IsNotFound(err) && apierrors.IsNotFound(account) && len(left) == 0, left
	})
}

// inUse is what a WebhookRollout reports of conversions that objects need.
func inUse(e *env, csv string) string {
	e.Helper()
	rollout := kube.Get(e, olmClient.WebhookRollouts(e.namespace), csv)
	if c := meta.FindStatusCondition(rollout.Status.Conditions, managerv1alpha1.ConditionConversionInUse); c != nil {
		return c.Message
	}
	return ""
}

// ownAccount has a ServiceAccount deleted with a ClusterServiceVersion, and waits until the definition
// keeps it.
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
