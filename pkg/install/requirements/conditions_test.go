package requirements

import (
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestConditionViolations(t *testing.T) {
	for name, test := range map[string]struct{ annotation, want string }{
		"none":             {"", ""},
		"one, in YAML":     {"v.shop.example.com:\n- name: not-mine\n  expression: request.userInfo.username != 'me'\n", ""},
		"two, in JSON":     {`{"v.shop.example.com": [{"name": "a", "expression": "true"}, {"name": "b", "expression": "true"}]}`, ""},
		"not a map":        {`[]`, "cannot be read"},
		"unknown field":    {`{"v.shop.example.com": [{"name": "a", "expr": "true"}]}`, "cannot be read"},
		"another webhook":  {`{"other": [{"name": "a", "expression": "true"}]}`, `"other" is the generateName of no validating or mutating webhook`},
		"no name":          {`{"v.shop.example.com": [{"expression": "true"}]}`, "needs a name and an expression"},
		"no expression":    {`{"v.shop.example.com": [{"name": "a"}]}`, "needs a name and an expression"},
		"a name of ours":   {`{"v.shop.example.com": [{"name": "olm-webhook-manager.io/own-pods", "expression": "true"}]}`, "begins like the manager's own"},
		"a name twice":     {`{"v.shop.example.com": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "false"}]}`, `two conditions "a"`},
		"a name in others": {`{"v.shop.example.com": [], "": []}`, `"" is the generateName of no`},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Conditioned(test.annotation)
			violations := conditionViolations(csv)
			if test.want == "" {
				installtest.None(t, "violations", violations)
				return
			}
			if len(violations) != 1 || !strings.Contains(violations[0].Message, test.want) || !strings.Contains(violations[0].Message, "olm-webhook-manager.io/match-conditions") {
				t.Errorf("violations %+v, want one with %q", violations, test.want)
			}
			installtest.Same(t, "it passes", false, Check(Facts{CSV: csv}).Passes())
		})
	}
}

// A ClusterServiceVersion of a tenant must not make the manager run out of memory.
func TestConditionsWithAliases(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	csv.Annotations = map[string]string{
		"olm-webhook-manager.io/match-conditions": "a: &a [" + strings.Repeat("x,", 9999) + "]\nb: &b [" + strings.Repeat("*a,", 9999) + "]\nc: [" + strings.Repeat("*b,", 9999) + "]\n",
	}
	_, err := csvspec.MatchConditions(csv)
	installtest.Error(t, "repeat too much", err)
}

// FuzzConditions reads the annotation of matchConditions of any text: what cannot be read is a violation.
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
		installtest.Same(t, "there are violations", err != nil || len(conditions) > 0, len(conditionViolations(csv)) > 0)
	})
}
