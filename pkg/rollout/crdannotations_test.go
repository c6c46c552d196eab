package rollout

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// What a definition has of its own stays as it is, and is never named as the config's, by
// which it would go with the config.
func TestAnnotationsOfDefinitions(t *testing.T) {
	const names, team, site = "olm-webhook-manager.io/propagated-annotations", "example.com/team", "example.com/site"
	for name, test := range map[string]struct {
		live, config, want map[string]string // no want: nothing is written
	}{
		"none on either":          {nil, nil, nil},
		"put there":               {map[string]string{site: "own"}, map[string]string{team: "red"}, map[string]string{team: "red", names: team}},
		"there already":           {map[string]string{team: "red", names: team}, map[string]string{team: "red"}, nil},
		"another value now":       {map[string]string{team: "red", names: team}, map[string]string{team: "blue"}, map[string]string{team: "blue", names: team}},
		"its own":                 {map[string]string{team: "own"}, map[string]string{team: "red"}, nil},
		"its own, of that value":  {map[string]string{team: "red"}, map[string]string{team: "red"}, nil},
		"its own beside another":  {map[string]string{team: "own"}, map[string]string{team: "red", site: "a"}, map[string]string{site: "a", names: site}},
		"removed by somebody":     {map[string]string{names: team}, map[string]string{team: "red"}, map[string]string{team: "red", names: team}},
		"not configured any more": {map[string]string{team: "red", names: team}, nil, map[string]string{}},
		"one of two left":         {map[string]string{team: "red", site: "a", names: site + "," + team}, map[string]string{site: "a"}, map[string]string{site: "a", names: site}},
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
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("the annotations that are written (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, live.Annotations); diff != "" {
				t.Errorf("what was observed is changed (-want +got):\n%s", diff)
			}
		})
	}
}
