package bundle

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// suggesting is the edit that suggests a namespace, by its name or by a template.
func suggesting(what string) []string {
	key, value, _ := strings.Cut(what, ": ")
	annotation := strings.TrimSuffix("operatorframework.io/suggested-namespace-"+key, "-name")
	return []string{"    capabilities: Basic Install\n", "    capabilities: Basic Install\n    " + annotation + ": " + value + "\n"}
}

func namespaceOf(t *testing.T, b *bundle.Bundle) *unstructured.Unstructured {
	t.Helper()
	manifests := installtest.OrPanic(bundle.Manifests(b, bundle.Options{}))
	return manifests[0]
}

func namespaceRefused(t *testing.T, e *env, b *bundle.Bundle) {
	mustRefuse(t, e.create(t.Context(), namespaceOf(t, b), true))
}

// groupRefused: neither the OperatorGroup nor the Subscription is accepted, in whichever namespace.
func groupRefused(t *testing.T, e *env, b *bundle.Bundle) {
	e.namespace(t, testNamespace)
	manifests := installtest.OrPanic(bundle.Manifests(b, bundle.Options{Namespace: testNamespace}))
	for _, object := range manifests[len(manifests)-3 : len(manifests)-1] {
		mustRefuse(t, e.create(t.Context(), object, true))
	}
}

// namespaceWithoutLabels: the labels of the template are not written.
func namespaceWithoutLabels(t *testing.T, e *env, b *bundle.Bundle) {
	object := namespaceOf(t, b)
	resource := e.client(t, object)
	made, err := resource.Apply(t.Context(), object.GetName(), object, metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "kubectl"})
	must(t, err)
	if _, labelled := made.GetLabels()["a"]; labelled || made.GetName() != "projectpolicy" {
		t.Errorf("the namespace is made as %s, with the labels %v", made.GetName(), made.GetLabels())
	}
}
