package policy_test

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestCheck(t *testing.T) {
	type labels = map[string]string
	stages := compile(t, "stages", policy.Spec{NamePattern: "[a-z]+-(dev|prod)"})
	owned := compile(t, "owned", policy.Spec{RequiredLabels: []policy.RequiredLabel{{Key: "team"}, {Key: "cost-centre", Pattern: `\d{4}`}}})
	x := func(name string, exempt ...string) []*policy.Compiled {
		return compile(t, name, policy.Spec{NamePattern: "x", Exempt: exempt})
	}
	tests := map[string]struct {
		policies []*policy.Compiled
		name     string
		labels   labels
		want     []string
	}{
		"no policy asks for nothing": {nil, "anything", nil, nil},
		"a name that matches":        {stages, "shop-dev", nil, nil},
		"a name that does not match": {stages, "shop", nil, []string{"stages: metadata.name is \"shop\", must match `[a-z]+-(dev|prod)` as a whole"}},
		"a name that matches at its end only": {
			stages, "1-shop-dev", nil, []string{"stages: metadata.name is \"1-shop-dev\", must match `[a-z]+-(dev|prod)` as a whole"},
		},
		"a name that matches at its beginning only": {
			stages, "shop-dev-2", nil, []string{"stages: metadata.name is \"shop-dev-2\", must match `[a-z]+-(dev|prod)` as a whole"},
		},
		"alternatives are each matched as a whole": {
			compile(t, "two", policy.Spec{NamePattern: "shop|bank"}), "shopping", nil,
			[]string{"two: metadata.name is \"shopping\", must match `shop|bank` as a whole"},
		},
		"a flag in the pattern does not loosen its ends": {
			compile(t, "lines", policy.Spec{RequiredLabels: []policy.RequiredLabel{{Key: "team", Pattern: "(?m)shop$"}}}), "n", labels{"team": "shop\nbank"},
			[]string{"lines: metadata.labels[team] is \"shop\\nbank\", must match `(?m)shop$` as a whole"},
		},
		"labels that exist": {owned, "n", labels{"team": "", "cost-centre": "4711"}, nil},
		"labels that are missing": {owned, "n", nil, []string{
			"owned: metadata.labels[team] is missing, any value will do",
			"owned: metadata.labels[cost-centre] is missing, must match `\\d{4}` as a whole",
		}},
		"a label with a wrong value": {
			owned, "n", labels{"team": "shop", "cost-centre": "47110"}, []string{"owned: metadata.labels[cost-centre] is \"47110\", must match `\\d{4}` as a whole"},
		},
		"an empty value is a value": {
			owned, "n", labels{"team": "shop", "cost-centre": ""}, []string{"owned: metadata.labels[cost-centre] is \"\", must match `\\d{4}` as a whole"},
		},
		"all policies count": {slices.Concat(stages, owned), "shop", labels{"cost-centre": "4711"}, []string{
			"stages: metadata.name is \"shop\", must match `[a-z]+-(dev|prod)` as a whole",
			"owned: metadata.labels[team] is missing, any value will do",
		}},
		"exempt by name":         {x("a", "other", "shop"), "shop", nil, nil},
		"a name is not a prefix": {x("a", "shop"), "shop-2", nil, []string{"a: metadata.name is \"shop-2\", must match `x` as a whole"}},
		"exempt by prefix":       {x("a", "shop-*"), "shop-2", nil, nil},
		"outside the prefix":     {x("a", "shop-*"), "shop", nil, []string{"a: metadata.name is \"shop\", must match `x` as a whole"}},
		"exempt from one policy is not exempt from the other": {
			slices.Concat(x("a", "shop"), x("b")), "shop", nil, []string{"b: metadata.name is \"shop\", must match `x` as a whole"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range policy.Check(policy.Namespace{Name: test.name, Labels: test.labels}, test.policies) {
				got = append(got, v.Policy+": "+v.Field+" "+v.Problem)
			}
			installtest.Same(t, "violations", test.want, got)
		})
	}
}

func TestIntroduced(t *testing.T) {
	policies := compile(t, "owned", policy.Spec{
		NamePattern:    ".*-dev",
		RequiredLabels: []policy.RequiredLabel{{Key: "team"}, {Key: "cost-centre", Pattern: `\d{4}`}},
	})
	type labels = map[string]string
	tests := map[string]struct {
		before, after labels
		want          []string
	}{
		"nothing changes":                     {labels{"cost-centre": "none"}, labels{"cost-centre": "none"}, nil},
		"a label that no policy asks for":     {nil, labels{"owner": "somebody"}, nil},
		"one of two faults is put right":      {nil, labels{"team": "shop"}, nil},
		"a required label is removed":         {labels{"team": "shop"}, nil, []string{"metadata.labels[team]"}},
		"a good value becomes bad":            {labels{"cost-centre": "4711"}, labels{"cost-centre": "none"}, []string{"metadata.labels[cost-centre]"}},
		"a bad value becomes another bad one": {labels{"cost-centre": "none"}, labels{"cost-centre": "free"}, []string{"metadata.labels[cost-centre]"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := policy.Check(policy.Namespace{Name: "legacy", Labels: test.before}, policies)
			after := policy.Check(policy.Namespace{Name: "legacy", Labels: test.after}, policies)

			var got []string
			for _, v := range policy.Introduced(before, after) {
				got = append(got, v.Field)
			}
			installtest.Same(t, "fields", test.want, got)
		})
	}
}

func compile(t *testing.T, name string, spec policy.Spec) []*policy.Compiled {
	t.Helper()
	compiled, err := policy.Compile(&policy.ProjectPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	if err != nil {
		t.Fatalf("compiling policy %s: %v", name, err)
	}
	return []*policy.Compiled{compiled}
}

func TestExplain(t *testing.T) {
	tests := map[string]struct {
		violations []policy.Violation
		want       string
	}{
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
		installtest.Same(t, name, test.want, policy.Explain("shop", test.violations))
	}
}

func TestCompileNamesEveryInvalidPattern(t *testing.T) {
	tests := map[string]struct {
		spec policy.Spec
		want string
	}{
		"one that only compiles inside a group": {
			spec: policy.Spec{NamePattern: "a)|(b"},
			want: "spec.namePattern: error parsing regexp: unexpected ): `a)|(b`",
		},
		"a lookahead, which RE2 has not": {
			spec: policy.Spec{NamePattern: "(?!kube-).*"},
			want: "spec.namePattern: error parsing regexp: invalid or unsupported Perl syntax: `(?!`",
		},
		"a label's and the name's": {
			spec: policy.Spec{NamePattern: "*", RequiredLabels: []policy.RequiredLabel{{Key: "fine", Pattern: "x"}, {Key: "team", Pattern: "[z-a]"}}},
			want: "spec.namePattern: error parsing regexp: missing argument to repetition operator: `*`; " +
				"spec.requiredLabels[1].pattern: error parsing regexp: invalid character class range: `z-a`",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			compiled, err := policy.Compile(&policy.ProjectPolicy{Spec: test.spec})
			installtest.Same(t, "the error", test.want, fmt.Sprint(err))
			installtest.Same(t, "a policy with an invalid pattern is in force, even in part", false, compiled != nil)
		})
	}
}
