package e2e

import (
	"context"
	"os/exec"
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
	client := &caches.Client{Dynamic: dynamicClient, Namespace: "default"} // where the samples are

	e.applyBundle(files+"/bundle-v1", "crdconversion.v1.0.0")
	// It goes while there is a webhook to convert what goes with it.
	e.Cleanup(func() { e.kubectl("delete", "crd", crd, "--wait", "--ignore-not-found") })
	e.kubectl("apply", "-f", files+"/samples/cache-v1.yaml")
	e.reportsMemory(client, "sessions", "1536Mi")
	old := client.Get(t, convert.V1, "sessions")

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
	if diff := cmp.Diff(caches.Authored(old), caches.Authored(client.Get(t, convert.V1, "sessions"))); diff != "" {
		t.Errorf("the old Cache after the upgrade (-before +after):\n%s", diff)
	}
	client.RoundTrips(t, 50)

	load := e.startLoadOf(10*time.Millisecond, func(ctx context.Context) call {
		c := call{sent: time.Now(), outcome: converted}
		// It is stored in one of the two versions: one of the two reads needs the webhook.
		for _, version := range caches.Versions {
			if _, c.err = client.In(version).Get(ctx, "sessions", metav1.GetOptions{}); c.err != nil {
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

	e.goesBack(client, files, crd)
}

// goesBack is the README's way back to the version that has no webhook. A Cache that is
// older than v2 is what it was, and of one that was born in v2 nothing is lost either.
func (e *env) goesBack(client *caches.Client, files, crd string) {
	e.Helper()
	e.kubectl("apply", "-f", files+"/samples/cache-v2.yaml")
	before := map[string]any{}
	for _, name := range []string{"sessions", "pages"} {
		before[name] = caches.Authored(client.Get(e.T, convert.V1, name))
	}

	e.manager("storage", "migrate", crd, "--to", "v1")
	e.kubectl("replace", "-f", files+"/bundle-v1/manifests/crdconversion.example.com_caches.yaml")
	e.kubectl("delete", "-n", e.namespace, "csv/crdconversion.v2.0.0", "--wait")
	e.kubectl("apply", "--server-side", "-n", e.namespace, "-f", files+"/bundle-v1/manifests/crdconversion.clusterserviceversion.yaml")
	e.succeeds("crdconversion.v1.0.0")

	for name, want := range before {
		if diff := cmp.Diff(want, any(caches.Authored(client.Get(e.T, convert.V1, name)))); diff != "" {
			e.Errorf("Cache %s after the way back (-before +after):\n%s", name, diff)
		}
	}
	// The operator of v1 is at work: it takes the change that only it can have seen.
	e.kubectl("patch", "caches.v1.crdconversion.example.com/pages", "-n", "default", "--type=merge", "-p", `{"spec":{"size":"5x1Gi"}}`)
	e.reportsMemory(client, "pages", "5Gi")
}

// manager runs the manager's program as an administrator does, from this source.
func (e *env) manager(arguments ...string) {
	e.Helper()
	output, err := exec.CommandContext(e.ctx, "go", append([]string{"run", "../../cmd/olm-webhook-manager"}, arguments...)...).CombinedOutput()
	if err != nil {
		e.Fatalf("olm-webhook-manager %v: %v\n%s", arguments, err, output)
	}
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
