package requirements

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A version that is not served is a lack, unless it was promised, and may be waited for.
func TestAwaitedVersions(t *testing.T) {
	const promised, unmet = "a.example.com/v2", "CustomResourceDefinition a.example.com: CRD version not served: the ClusterServiceVersion names v2, served are v1"
	for name, test := range map[string]struct {
		annotation, converts string
		definition           *apiextensionsv1.CustomResourceDefinition
		want                 []string
		unmet                string
	}{
		"promised":                {promised, "a.example.com", installtest.Definition("a.example.com"), []string{promised}, ""},
		"promised among others":   {"b.example.com/v2," + promised, "a.example.com", installtest.Definition("a.example.com"), []string{promised}, ""},
		"not promised":            {"", "a.example.com", installtest.Definition("a.example.com"), nil, unmet},
		"another one promised":    {"a.example.com/v3", "a.example.com", installtest.Definition("a.example.com"), nil, unmet},
		"nobody will convert":     {promised, "b.example.com", installtest.Definition("a.example.com"), nil, unmet},
		"promised, and no object": {promised, "a.example.com", nil, nil, "CustomResourceDefinition a.example.com: CRD is not present"},
		"promised, and there": {promised, "a.example.com", installtest.Definition("a.example.com", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2", Served: true})
		}), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil, operatorsv1alpha1.WebhookDescription{Type: operatorsv1alpha1.ConversionWebhook, ConversionCRDs: []string{test.converts}})
			csv.Annotations = map[string]string{wellknown.AnnotationAwaitedVersions: test.annotation}
			csv.Spec.CustomResourceDefinitions.Owned = describing("a.example.com", "v2")
			facts := Facts{CSV: csv, CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{}}
			if test.definition != nil {
				facts.CRDs["a.example.com"] = test.definition
			}
			verdict := Verdict{Requirements: requiredCRDs(facts), Awaited: awaitedVersions(facts)}
			if !slices.Equal(verdict.Awaited, test.want) || verdict.Unmet() != test.unmet {
				t.Errorf("awaited are %q, unmet is %q, want %q, %q", verdict.Awaited, verdict.Unmet(), test.want, test.unmet)
			}
		})
	}
}
