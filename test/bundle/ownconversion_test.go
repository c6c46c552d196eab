package bundle

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

// A conversion that only the bundle's definition has is written with the versions that need it. It replaces no other
// webhook before the administrator agrees, and a conversion that the bundle does not have stays.
func TestConversionOfTheBundlesOwn(t *testing.T) {
	e, c := newEnvWithInstaller(t)
	o := bundle.Options{Namespace: "ownconversion"}
	e.namespace(t, o.Namespace)
	const webhook = "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {service: {namespace: ownconversion, name: NAME}}}}"
	own, theirs := strings.Replace(webhook, "NAME", "own", 1), strings.Replace(webhook, "NAME", "theirs", 1)
	version := func(conversion string, versions ...string) *bundle.Bundle {
		return written(t, "ownconversion", "ownconversion.v1", versioned(conversion, versions...))
	}
	must(t, applyAll(t, c, version("{strategy: None}", "v1"), o))
	crd := parsed(t, versioned("{strategy: None}", "v1"))
	resource := e.client(t, crd)
	t.Cleanup(func() { e.remove(t, resource, crd.GetName()) })
	stepOf := func(b *bundle.Bundle) (deploy.Step, []string) {
		t.Helper()
		p := e.planned(t, c, b, o.Namespace)
		must(t, p.Err())
		at := slices.IndexFunc(p.Steps(), func(s deploy.Step) bool { return s.Object.GetName() == crd.GetName() })
		return p.Steps()[at], deploy.Changes(p.Steps(), nil)
	}

	b := version(own, "v1", "v2")
	if s, _ := stepOf(b); s.Action != deploy.Update || !slices.Contains(s.Changed, "spec.conversion") {
		t.Errorf("the plan is to %s, and changes %v", s.Action, s.Changed)
	}
	must(t, applyAll(t, c, b, o))
	if live := e.definitionNow(t, crd); convertedBy(live) != "own" || !live.Spec.Versions[1].Served || !live.Spec.Versions[0].Storage {
		t.Errorf("the definition is converted by %q, with versions %+v", convertedBy(live), live.Spec.Versions)
	}

	_, err := resource.Patch(t.Context(), crd.GetName(), types.MergePatchType, []byte(`{"spec":{"conversion":`+asJSON(t, theirs)+`}}`), metav1.PatchOptions{FieldManager: "helm"})
	must(t, err)
	if s, _ := stepOf(b); s.Action != deploy.Overwrite || !strings.Contains(s.Describe(), "spec.conversion") {
		t.Errorf("the plan is to %s: %s", s.Action, s.Describe())
	}
	s, messages := stepOf(version("{strategy: None}", "v1", "v2"))
	if want := "not changed: CustomResourceDefinition " + crd.GetName() + " keeps its conversion by Service ownconversion/theirs, which the bundle does not have"; s.Action != deploy.Update || !slices.Contains(messages, want) {
		t.Errorf("the plan is to %s, and messages %q", s.Action, messages)
	}
}

func versioned(conversion string, versions ...string) string {
	text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: goods.ownconversion.example.com}\n" +
		"spec:\n  group: ownconversion.example.com\n  scope: Namespaced\n  names: {kind: Good, plural: goods}\n  conversion: " + conversion + "\n  versions:\n"
	for i, v := range versions {
		text += fmt.Sprintf("  - {name: %s, served: true, storage: %t, schema: {openAPIV3Schema: {type: object}}}\n", v, i == 0)
	}
	return text
}

func (e *env) definitionNow(t *testing.T, crd *unstructured.Unstructured) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	live := &apiextensionsv1.CustomResourceDefinition{}
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(e.now(t, crd).Object, live))
	return live
}

func convertedBy(crd *apiextensionsv1.CustomResourceDefinition) string {
	if crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter {
		return ""
	}
	return crd.Spec.Conversion.Webhook.ClientConfig.Service.Name
}

func asJSON(t *testing.T, text string) string {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	must(t, err)
	return string(encoded)
}
