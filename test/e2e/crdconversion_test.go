package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
)

// ADR034: Caches are read and written in both versions without loss, and the webhook goes
// on to convert when the operator is killed.
func TestCRDConversion(t *testing.T) {
	t.Parallel()
	const files, crd = "examples/crdconversion", "caches.crdconversion.example.com"
	e := newExample(t, "crdconversion", files+"/install")
	e.kubectl("apply", "--server-side", "-k", files+"/install")
	client := &caches.Client{Dynamic: dynamicClient, Namespace: e.namespace}

	e.applyBundle(files+"/bundle-v1", "crdconversion.v1.0.0")
	// It goes while there is a webhook to convert what goes with it.
	e.Cleanup(func() { e.kubectl("delete", "crd", crd, "--wait", "--ignore-not-found") })
	old, err := client.In(convert.V1).Create(e.ctx,
		caches.New(convert.V1, "old", map[string]any{"size": "3x512Mi", "evict": "lru", "debug": true}), metav1.CreateOptions{})
	e.must(err)
	e.reportsMemory(client, "old", "1536Mi")

	e.applyBundle(files+"/bundle-v2", "crdconversion.v2.0.0") // which replaces it
	e.isReplaced("crdconversion.v1.0.0")
	e.eventually("both versions are served", func() (bool, any) {
		for _, version := range caches.Versions {
			if err := client.TryDryRun(t, version); err != nil {
				return false, err
			}
		}
		return true, nil
	})
	if diff := cmp.Diff(caches.Authored(old), caches.Authored(client.Get(t, convert.V1, "old"))); diff != "" {
		t.Errorf("the old Cache after the upgrade (-before +after):\n%s", diff)
	}
	client.RoundTrips(t, 50)

	load := e.startLoadOf(10*time.Millisecond, func(ctx context.Context) call {
		c := call{sent: time.Now(), outcome: converted}
		// It is stored in one of the two versions: one of the two reads needs the webhook.
		for _, version := range caches.Versions {
			if _, c.err = client.In(version).Get(ctx, "old", metav1.GetOptions{}); c.err != nil {
				c.outcome = failed
				break
			}
		}
		c.answered = time.Now()
		return c
	})
	load.goesOn(converted)
	e.kill("crdconversion-operator")
	load.goesOn(converted)
	load.end(never)
}

// isReplaced waits until the ClusterServiceVersion before is gone.
func (e *env) isReplaced(csv string) {
	e.Helper()
	e.eventually(csv+" is replaced", func() (bool, any) {
		before, err := olmClient.OperatorsV1alpha1().ClusterServiceVersions(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		return apierrors.IsNotFound(err), before.Status.Message
	})
}

// reportsMemory waits for what the operator writes into a status.
func (e *env) reportsMemory(client *caches.Client, name, want string) {
	e.Helper()
	e.eventually("the operator reports on Cache "+name, func() (bool, any) {
		memory, _, err := unstructured.NestedString(client.Get(e.T, convert.V1, name).Object, "status", "memory")
		e.must(err)
		return memory == want, memory
	})
}
