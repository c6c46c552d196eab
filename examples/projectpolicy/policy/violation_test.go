package policy_test

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
)

func TestExplain(t *testing.T) {
	tests := map[string]struct {
		violations []policy.Violation
		want       string
	}{
		"one": {
			violations: []policy.Violation{{Policy: "stages", Field: "metadata.name", Problem: "is wrong"}},
			want:       `namespace "shop" does not comply with ProjectPolicy "stages": metadata.name is wrong`,
		},
		"the help of a policy stands once, after all its violations": {
			violations: []policy.Violation{
				{Policy: "stages", Field: "metadata.name", Problem: "is wrong", Help: "Ask the platform team."},
				{Policy: "stages", Field: "metadata.labels[team]", Problem: "is missing", Help: "Ask the platform team."},
			},
			want: `namespace "shop" does not comply with ProjectPolicy "stages": metadata.name is wrong; ` +
				`metadata.labels[team] is missing (Ask the platform team.)`,
		},
		"two policies": {
			violations: []policy.Violation{
				{Policy: "owned", Field: "metadata.labels[team]", Problem: "is missing", Help: "Say whose it is."},
				{Policy: "stages", Field: "metadata.name", Problem: "is wrong"},
			},
			want: `namespace "shop" does not comply with ProjectPolicy "owned": metadata.labels[team] is missing (Say whose it is.); ` +
				`and with ProjectPolicy "stages": metadata.name is wrong`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := policy.Explain("shop", test.violations); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
