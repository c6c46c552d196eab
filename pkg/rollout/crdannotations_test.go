package rollout

import (
	"maps"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// Annotations that a definition already has are not changed and not recorded as configured.
// Otherwise they would be removed with the configuration.
func TestAnnotationsOfDefinitions(t *testing.T) {
	const names, team, site = "olm-webhook-manager.io/propagated-annotations", "example.com/team", "example.com/site"
	for name, test := range map[string]struct {
		live, config, want map[string]string // no want: nothing is written
	}{
		"none":                          {nil, nil, nil},
		"added":                         {map[string]string{site: "own"}, map[string]string{team: "red"}, map[string]string{team: "red", names: team}},
		"unchanged":                     {map[string]string{team: "red", names: team}, map[string]string{team: "red"}, nil},
		"changed value":                 {map[string]string{team: "red", names: team}, map[string]string{team: "blue"}, map[string]string{team: "blue", names: team}},
		"existing":                      {map[string]string{team: "own"}, map[string]string{team: "red"}, nil},
		"existing, with the same value": {map[string]string{team: "red"}, map[string]string{team: "red"}, nil},
		"existing, and another one":     {map[string]string{team: "own"}, map[string]string{team: "red", site: "a"}, map[string]string{site: "a", names: site}},
		"removed by another client":     {map[string]string{names: team}, map[string]string{team: "red"}, map[string]string{team: "red", names: team}},
		"not configured any more":       {map[string]string{team: "red", names: team}, nil, map[string]string{}},
		"one of two is configured":      {map[string]string{team: "red", site: "a", names: site + "," + team}, map[string]string{site: "a"}, map[string]string{site: "a", names: site}},
	} {
		t.Run(name, func(t *testing.T) {
			live := convertedCRD("server-service", nil)
			live.Annotations = test.live
			before := maps.Clone(test.live)
			p := newPlanner(Input{Observed: Observed{CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{live.Name: live}}}, noon)
			p.plan.ensureConversions([]render.Conversion{{CRD: live.Name, Annotations: test.config, Spec: *live.Spec.Conversion.DeepCopy()}})
			var got map[string]string
			for _, step := range p.plan.Steps {
				got = maps.Clone(step.Object.GetAnnotations())
				delete(got, "olm-webhook-manager.io/certificate-generation")
			}
			installtest.Same(t, "written annotations", test.want, got)
			installtest.Same(t, "the observed object is changed", before, live.Annotations)
		})
	}
}
