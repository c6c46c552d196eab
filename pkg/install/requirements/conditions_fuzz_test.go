package requirements

import (
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// FuzzConditions reads the annotation of matchConditions of any text: what cannot be read is a
// violation.
func FuzzConditions(f *testing.F) {
	for _, text := range []string{
		`{"v.shop.example.com": [{"name": "a", "expression": "true"}]}`, "a: &a [x]\nb: *a\n", "a: &a [*a]", "[", "v.shop.example.com:\n- name: a\n  expression: object.a == 1\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		csv := &operatorsv1alpha1.ClusterServiceVersion{}
		csv.Annotations = map[string]string{"olm-webhook-manager.io/match-conditions": text}
		conditions, err := csvspec.MatchConditions(csv)
		if violations := conditionViolations(csv); (err != nil || len(conditions) > 0) != (len(violations) > 0) {
			t.Errorf("%d webhooks, %v, and %d violations", len(conditions), err, len(violations))
		}
	})
}
