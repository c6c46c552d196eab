package policy_test

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
)

func TestCompileNamesEveryInvalidPattern(t *testing.T) {
	tests := map[string]struct {
		spec policy.Spec
		want string
	}{
		"the name's": {
			spec: policy.Spec{NamePattern: "a(b"},
			want: "spec.namePattern: error parsing regexp: missing closing ): `a(b`",
		},
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
			if err == nil || err.Error() != test.want {
				t.Errorf("error is\n%v\nwant\n%s", err, test.want)
			}
			if compiled != nil {
				t.Error("a policy with an invalid pattern must not be in force, even in part")
			}
		})
	}
}
