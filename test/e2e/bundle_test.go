package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
)

// newTerminal works in a Namespace that bundle install makes. Its context also serves what the test cleans up.
func newTerminal(t *testing.T, namespace string) *terminal {
	t.Helper()
	e := &env{T: t, ctx: context.WithoutCancel(t.Context()), namespace: namespace, began: metav1.Now()}
	e.Cleanup(e.clean)
	return &terminal{env: e}
}

// One command installs an operator, one upgrades it to a version that brings a conversion, and one removes it. Its
// objects are deleted only when confirmed twice, and nothing is left.
func TestBundleUpgrades(t *testing.T) {
	const v1, v2, crd = "examples/crdconversion/bundle-v1", "examples/crdconversion/bundle-v2", "caches.crdconversion.example.com"
	term := newTerminal(t, "e2e-caches")
	term.Cleanup(func() { term.kubectl("delete", "crd", crd, "--ignore-not-found") })
	clean := term.restingCluster()

	term.works("", "bundle", "install", v1, "-n", "e2e-caches", "--dry-run=server")
	term.works("y\n", "bundle", "install", v1, "-n", "e2e-caches")
	client := &caches.Client{Dynamic: dynamicClient, Namespace: "default"} // where the sample is
	term.kubectl("apply", "-f", "examples/crdconversion/samples/cache-v1.yaml")

	term.fails(1, []string{"use bundle upgrade"}, "bundle", "install", v2, "-n", "e2e-caches", "--yes")
	const definition = "crdconversion.example.com_caches.yaml"
	withoutV1 := term.withDefinition("without-v1", v2, definition, withoutFirst)
	term.refused(crd, withoutV1, "version v1 vanishes")
	term.refused(crd, term.withDefinition("stricter-v1", v2, definition, evictsNever), "the next schema of version v1 refuses it")
	term.works("", "bundle", "upgrade", v2, "--dry-run=server", "-o", "name")
	before, after := term.startReads(client, "sessions")
	before.GoesOn(calls.Converted)
	if said := term.works("", "bundle", "upgrade", v2, "--yes"); !inOrder(said, "Deployment crdconversion-webhook is Available", "webhook "+crd+" is Registered", " serves v2", "crdconversion.v2.0.0 is Succeeded") {
		t.Errorf("v2 is not served between its webhook and the end:\n%s", said)
	}
	after.GoesOn(calls.Converted)
	before.End(calls.Never)
	after.End(calls.UncoveredBefore(after.First(calls.Converted)))
	for _, version := range caches.Versions {
		if err := client.TryDryRun(t, version); err != nil {
			t.Errorf("after the upgrade %s is not served: %v", version, err)
		}
	}
	client.Get(t, convert.V1, "sessions")
	// What the refusal asked for is done by now: first this upgrade, then the command.
	term.migrate(crd, "--to", "v2")
	term.works("", "bundle", "upgrade", withoutV1, "--dry-run=server", "-o", "name")

	term.works("", "status", "-n", "e2e-caches")
	term.works("", "certificates", "-n", "e2e-caches")
	term.fails(1, []string{"remove that with its own bundle"}, "bundle", "uninstall", v1, "-n", "e2e-caches", "--yes")
	_, exit := term.webhooks("y\nn\n", "bundle", "uninstall", v2, "--delete-crds")
	installtest.Same(t, "the exit code after the second question was answered with no", 1, exit)
	client.Get(t, convert.V1, "sessions")
	term.works("y\ny\n", "bundle", "uninstall", v2, "--delete-crds")
	term.golden("upgrade")
	removeNamespace(term.env)
	term.clusterIs(clean)
}

// startReads reads a Cache in the version that it has, which never fails, and in the one that
// comes by an upgrade, which never does once it exists; neither is ever wrong.
func (t *terminal) startReads(client *caches.Client, name string) (before, after *calls.Load) {
	t.Helper()
	old := client.Get(t.T, convert.V1, name)
	converted := old.DeepCopy()
	converted.SetGroupVersionKind(convert.V2.WithKind(convert.Kind))
	t.must(convert.ToV2(old, converted))
	return calls.Start(t, between, reads(client, old)), calls.Start(t, between, reads(client, converted))
}

// reads reads a Cache, and compares what people wrote of it.
func reads(client *caches.Client, want *unstructured.Unstructured) func(context.Context) calls.Call {
	return func(ctx context.Context) calls.Call {
		c := calls.Call{Sent: time.Now(), Outcome: calls.Converted}
		read, err := client.In(want.GroupVersionKind().GroupVersion()).Get(ctx, want.GetName(), metav1.GetOptions{})
		c.Answered, c.Err = time.Now(), err
		switch {
		case apierrors.IsNotFound(err):
			c.Outcome = calls.Uncovered
		case err != nil:
			c.Outcome = calls.Failed
		default:
			if diff := cmp.Diff(caches.Authored(want), caches.Authored(read)); diff != "" {
				c.Outcome, c.Err = calls.Failed, fmt.Errorf("%s is wrong (-want +got):\n%s", want.GroupVersionKind(), diff)
			}
		}
		return c
	}
}

// A webhook is installed with what an administrator chooses, and denies; uninstalling it
// leaves the definition and its objects.
func TestBundleInstalls(t *testing.T) {
	const bundle = "examples/projectpolicy/bundle"
	term := newTerminal(t, policyNamespace)
	term.Cleanup(func() { term.must(removeProjectPolicy(term.ctx)) })

	term.works("y\n", "bundle", "install", bundle, "--all-namespaces", "--certificates=manager", "--config", "test/e2e/testdata/config.yaml")
	allHave(term.env, "projectpolicy-webhook", "STAGE", "test")
	term.kubectl("apply", "-f", policyFiles+"/samples/projectpolicy.yaml")
	term.kubectl("wait", "projectpolicy/shared-cluster", "--for=condition=Valid")
	bothServersKnow(term.env)
	isDenied(term.env, "shop")
	term.works("", "status", "-n", policyNamespace)

	unrecorded := &terminal{env: term.env}
	chosen := unrecorded.works("", "bundle", "install", bundle, "--dry-run=client", "-o", "yaml", "--certificates=cert-manager", "--issuer=ClusterIssuer/corporate")
	installtest.Contains(t, chosen, "olm-webhook-manager.io/certificate-provider: cert-manager", "ClusterIssuer/corporate")
	// What exists already is applied again, and what is another is waited for.
	term.works("", "bundle", "install", bundle, "--config", "test/e2e/testdata/changed.yaml", "--yes", "-o", "wide")
	allHave(term.env, "projectpolicy-webhook", "STAGE", "production")
	term.fails(1, []string{"so is projectpolicy.v0.1.0"}, "bundle", "install", "examples/crdconversion/bundle-v1", "-n", policyNamespace, "--watch-namespaces", "default", "--yes")
	term.works("y\n", "bundle", "uninstall", bundle)
	term.golden("install")

	if _, err := kubectl(term.ctx, "get", "projectpolicy/shared-cluster"); err != nil {
		t.Errorf("the object of a definition that stays no longer exists: %v", err)
	}
	if _, err := olmClient.Subscriptions(policyNamespace).Get(term.ctx, "projectpolicy", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Subscription stays: %v", err)
	}
}

// allHave reports whether an environment variable has reached the pods of a Deployment.
func allHave(e *env, deployment, name, value string) {
	e.Helper()
	for _, pod := range podsOf(e, deployment) {
		if pod.DeletionTimestamp == nil && !hasEnv(pod, name, value) {
			e.Errorf("%s=%s did not reach pod %s: %+v", name, value, pod.Name, pod.Spec.Containers)
		}
	}
}

func hasEnv(pod corev1.Pod, name, value string) bool {
	for _, c := range pod.Spec.Containers {
		for _, e := range c.Env {
			if e.Name == name && e.Value == value {
				return true
			}
		}
	}
	return false
}
