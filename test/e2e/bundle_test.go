package e2e

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
)

// newTerminal works in a Namespace that bundle install makes. Its context also serves what
// the test cleans up.
func newTerminal(t *testing.T, namespace string) *terminal {
	t.Helper()
	e := &env{T: t, ctx: context.WithoutCancel(t.Context()), namespace: namespace, began: metav1.Now()}
	e.Cleanup(e.clean)
	return &terminal{env: e}
}

// An operator comes by one command, is upgraded to a version that brings a conversion
// together with what it converts, and goes: with its objects only when asked twice.
func TestBundleUpgrades(t *testing.T) {
	const v1, v2, crd = "examples/crdconversion/bundle-v1", "examples/crdconversion/bundle-v2", "caches.crdconversion.example.com"
	term := newTerminal(t, "e2e-caches")
	term.Cleanup(func() { term.kubectl("delete", "crd", crd, "--ignore-not-found") })

	term.works("", "bundle", "install", v1, "-n", "e2e-caches", "--dry-run=server")
	term.works("y\n", "bundle", "install", v1, "-n", "e2e-caches")
	client := &caches.Client{Dynamic: dynamicClient, Namespace: "default"} // where the sample is
	term.kubectl("apply", "-f", "examples/crdconversion/samples/cache-v1.yaml")

	term.fails(1, []string{"use bundle upgrade"}, "bundle", "install", v2, "-n", "e2e-caches", "--yes")
	term.works("", "bundle", "upgrade", v2, "--dry-run=server", "-o", "name")
	term.works("", "bundle", "upgrade", v2, "--yes")
	for _, version := range caches.Versions {
		if err := client.TryDryRun(t, version); err != nil {
			t.Errorf("after the upgrade %s is not served: %v", version, err)
		}
	}
	client.Get(t, convert.V1, "sessions")

	term.works("", "status", "-n", "e2e-caches")
	term.works("", "certificates", "-n", "e2e-caches")
	term.fails(1, []string{"remove that with its own bundle"}, "bundle", "uninstall", v1, "-n", "e2e-caches", "--yes")
	_, exit := term.webhooks("y\nn\n", "bundle", "uninstall", v2, "--delete-crds")
	if exit != 1 {
		t.Errorf("the second question was answered with no, and the exit code is %d", exit)
	}
	client.Get(t, convert.V1, "sessions")
	term.works("y\ny\n", "bundle", "uninstall", v2, "--delete-crds")
	term.golden("upgrade")
}

// A webhook is installed with what an administrator chooses, and denies; uninstalling it
// leaves the definition and its objects.
func TestBundleInstalls(t *testing.T) {
	const bundle = "examples/projectpolicy/bundle"
	term := newTerminal(t, policyNamespace)
	term.Cleanup(func() { term.must(removeProjectPolicy(term.ctx)) })

	term.works("y\n", "bundle", "install", bundle, "--all-namespaces", "--certificates=manager", "--config", "test/e2e/testdata/config.yaml")
	pods := term.podsOf("projectpolicy-webhook")
	if !hasEnv(pods[0], "STAGE", "test") {
		t.Errorf("--config did not reach the pods: %+v", pods[0].Spec.Containers)
	}
	term.kubectl("apply", "-f", policyFiles+"/samples/projectpolicy.yaml")
	term.kubectl("wait", "projectpolicy/shared-cluster", "--for=condition=Valid")
	term.isDenied("shop")
	term.works("", "status", "-n", policyNamespace)

	unrecorded := &terminal{env: term.env}
	chosen := unrecorded.works("", "bundle", "install", bundle, "--dry-run=client", "-o", "yaml", "--certificates=cert-manager", "--issuer=ClusterIssuer/corporate")
	for _, part := range []string{"olm-webhook-manager.io/certificates: cert-manager", "ClusterIssuer/corporate"} {
		if !strings.Contains(chosen, part) {
			t.Errorf("the Subscription does not say %q:\n%s", part, chosen)
		}
	}
	term.works("", "bundle", "install", bundle, "--config", "test/e2e/testdata/config.yaml", "--yes") // what is there already is applied once more
	term.works("y\n", "bundle", "uninstall", bundle)
	term.golden("install")

	if _, err := kubectl(term.ctx, "get", "projectpolicy/shared-cluster"); err != nil {
		t.Errorf("the object of a definition that stays is gone: %v", err)
	}
	if _, err := olmClient.OperatorsV1alpha1().Subscriptions(policyNamespace).Get(term.ctx, "projectpolicy", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Subscription stays: %v", err)
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
