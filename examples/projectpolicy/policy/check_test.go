package policy_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/asserttest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
)

func TestCheck(t *testing.T) {
	stages := policy.Spec{NamePattern: "[a-z]+-(dev|prod)"}
	owned := policy.Spec{RequiredLabels: []policy.RequiredLabel{{Key: "team"}, {Key: "cost-centre", Pattern: `\d{4}`}}}

	tests := map[string]struct {
		policies  []*policy.Compiled
		namespace policy.Namespace
		want      []string
	}{
		"no policy asks for nothing": {
			namespace: policy.Namespace{Name: "anything"},
		},
		"a name that matches": {
			policies:  compile(t, "stages", stages),
			namespace: policy.Namespace{Name: "shop-dev"},
		},
		"a name that does not match": {
			policies:  compile(t, "stages", stages),
			namespace: policy.Namespace{Name: "shop"},
			want:      []string{"stages: metadata.name is \"shop\", must match `[a-z]+-(dev|prod)` as a whole"},
		},
		"a name that matches at its end only": {
			policies:  compile(t, "stages", stages),
			namespace: policy.Namespace{Name: "1-shop-dev"},
			want:      []string{"stages: metadata.name is \"1-shop-dev\", must match `[a-z]+-(dev|prod)` as a whole"},
		},
		"a name that matches at its beginning only": {
			policies:  compile(t, "stages", stages),
			namespace: policy.Namespace{Name: "shop-dev-2"},
			want:      []string{"stages: metadata.name is \"shop-dev-2\", must match `[a-z]+-(dev|prod)` as a whole"},
		},
		"alternatives are each matched as a whole": {
			policies:  compile(t, "two", policy.Spec{NamePattern: "shop|bank"}),
			namespace: policy.Namespace{Name: "shopping"},
			want:      []string{"two: metadata.name is \"shopping\", must match `shop|bank` as a whole"},
		},
		"a flag in the pattern does not loosen its ends": {
			policies:  compile(t, "lines", policy.Spec{RequiredLabels: []policy.RequiredLabel{{Key: "team", Pattern: "(?m)shop$"}}}),
			namespace: policy.Namespace{Name: "n", Labels: map[string]string{"team": "shop\nbank"}},
			want:      []string{"lines: metadata.labels[team] is \"shop\\nbank\", must match `(?m)shop$` as a whole"},
		},
		"labels that exist": {
			policies:  compile(t, "owned", owned),
			namespace: policy.Namespace{Name: "n", Labels: map[string]string{"team": "", "cost-centre": "4711"}},
		},
		"labels that are missing": {
			policies:  compile(t, "owned", owned),
			namespace: policy.Namespace{Name: "n"},
			want: []string{
				"owned: metadata.labels[team] is missing, any value will do",
				"owned: metadata.labels[cost-centre] is missing, must match `\\d{4}` as a whole",
			},
		},
		"a label with a wrong value": {
			policies:  compile(t, "owned", owned),
			namespace: policy.Namespace{Name: "n", Labels: map[string]string{"team": "shop", "cost-centre": "47110"}},
			want:      []string{"owned: metadata.labels[cost-centre] is \"47110\", must match `\\d{4}` as a whole"},
		},
		"an empty value is a value": {
			policies:  compile(t, "owned", owned),
			namespace: policy.Namespace{Name: "n", Labels: map[string]string{"team": "shop", "cost-centre": ""}},
			want:      []string{"owned: metadata.labels[cost-centre] is \"\", must match `\\d{4}` as a whole"},
		},
		"all policies count": {
			policies:  append(compile(t, "stages", stages), compile(t, "owned", owned)...),
			namespace: policy.Namespace{Name: "shop", Labels: map[string]string{"cost-centre": "4711"}},
			want: []string{
				"stages: metadata.name is \"shop\", must match `[a-z]+-(dev|prod)` as a whole",
				"owned: metadata.labels[team] is missing, any value will do",
			},
		},
		"exempt by name": {
			policies:  compile(t, "stages", policy.Spec{NamePattern: "x", Exempt: []string{"other", "shop"}}),
			namespace: policy.Namespace{Name: "shop"},
		},
		"a name is not a prefix": {
			policies:  compile(t, "stages", policy.Spec{NamePattern: "x", Exempt: []string{"shop"}}),
			namespace: policy.Namespace{Name: "shop-2"},
			want:      []string{"stages: metadata.name is \"shop-2\", must match `x` as a whole"},
		},
		"exempt by prefix": {
			policies:  compile(t, "stages", policy.Spec{NamePattern: "x", Exempt: []string{"shop-*"}}),
			namespace: policy.Namespace{Name: "shop-2"},
		},
		"outside the prefix": {
			policies:  compile(t, "stages", policy.Spec{NamePattern: "x", Exempt: []string{"shop-*"}}),
			namespace: policy.Namespace{Name: "shop"},
			want:      []string{"stages: metadata.name is \"shop\", must match `x` as a whole"},
		},
		"exempt from one policy is not exempt from the other": {
			policies:  append(compile(t, "a", policy.Spec{NamePattern: "x", Exempt: []string{"shop"}}), compile(t, "b", policy.Spec{NamePattern: "x"})...),
			namespace: policy.Namespace{Name: "shop"},
			want:      []string{"b: metadata.name is \"shop\", must match `x` as a whole"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range policy.Check(test.namespace, test.policies) {
				got = append(got, v.Policy+": "+v.Field+" "+v.Problem)
			}
			asserttest.Same(t, "violations", test.want, got)
		})
	}
}

func TestIntroduced(t *testing.T) {
	policies := compile(t, "owned", policy.Spec{
		NamePattern:    ".*-dev",
		RequiredLabels: []policy.RequiredLabel{{Key: "team"}, {Key: "cost-centre", Pattern: `\d{4}`}},
	})
	tests := map[string]struct {
		before, after map[string]string
		want          []string
	}{
		"nothing changes": {
			before: map[string]string{"cost-centre": "none"},
			after:  map[string]string{"cost-centre": "none"},
		},
		"a label that no policy asks for": {
			after: map[string]string{"owner": "somebody"},
		},
		"one of two faults is put right": {
			after: map[string]string{"team": "shop"},
		},
		"a required label is removed": {
			before: map[string]string{"team": "shop"},
			want:   []string{"metadata.labels[team]"},
		},
		"a good value becomes bad": {
			before: map[string]string{"cost-centre": "4711"},
			after:  map[string]string{"cost-centre": "none"},
			want:   []string{"metadata.labels[cost-centre]"},
		},
		"a bad value becomes another bad one": {
			before: map[string]string{"cost-centre": "none"},
			after:  map[string]string{"cost-centre": "free"},
			want:   []string{"metadata.labels[cost-centre]"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := policy.Check(policy.Namespace{Name: "legacy", Labels: test.before}, policies)
			after := policy.Check(policy.Namespace{Name: "legacy", Labels: test.after}, policies)

			var got []string
			for _, v := range policy.Introduced(before, after) {
				got = append(got, v.Field)
			}
			asserttest.Same(t, "fields", test.want, got)
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
