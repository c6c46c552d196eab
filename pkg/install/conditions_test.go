package install

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// conditioned is an operator with a webhook on pods whose author wrote conditions.
func conditioned(annotation string) *operatorsv1alpha1.ClusterServiceVersion {
	csv := operator(deployments(deploymentOf("manager")), servedBy("manager", aboutRequests(admissionregistrationv1.Create, "", "pods")))
	csv.Annotations = map[string]string{"olm-webhook-manager.io/match-conditions": annotation}
	return csv
}

func TestMatchConditions(t *testing.T) {
	for name, test := range map[string]struct {
		annotation string
		want       []string
	}{
		"none of the author's": {"", []string{"olm-webhook-manager.io/own-pods", "olm-webhook-manager.io/system-workloads"}},
		"one, in YAML": {"v.shop.example.com:\n- name: not-mine\n  expression: request.userInfo.username != 'me'\n",
			[]string{"olm-webhook-manager.io/own-pods", "olm-webhook-manager.io/system-workloads", "not-mine"}},
		"two, in JSON": {`{"v.shop.example.com": [{"name": "a", "expression": "true"}, {"name": "b", "expression": "true"}]}`,
			[]string{"olm-webhook-manager.io/own-pods", "olm-webhook-manager.io/system-workloads", "a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(conditioned(test.annotation))
			in.Manager = managerUser
			var got []string
			for _, c := range rendered(t, in).Webhooks[0].Validating.Webhooks[0].MatchConditions {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}

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
			csv := conditioned(test.annotation)
			violations := conditionViolations(csv)
			if test.want == "" {
				if len(violations) > 0 {
					t.Errorf("violations %+v", violations)
				}
				return
			}
			if len(violations) != 1 || !strings.Contains(violations[0].Message, test.want) || !strings.Contains(violations[0].Message, "olm-webhook-manager.io/match-conditions") {
				t.Errorf("violations %+v, want one with %q", violations, test.want)
			}
			if Check(Facts{CSV: csv}).Passes() {
				t.Error("it passes the check")
			}
		})
	}
}

// A ClusterServiceVersion of a tenant must not make the manager run out of memory.
func TestConditionsWithAliases(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	csv.Annotations = map[string]string{
		"olm-webhook-manager.io/match-conditions": "a: &a [" + strings.Repeat("x,", 9999) + "]\nb: &b [" + strings.Repeat("*a,", 9999) + "]\nc: [" + strings.Repeat("*b,", 9999) + "]\n",
	}
	if conditions, err := AuthoredConditions(csv); err == nil || !strings.Contains(err.Error(), "repeat too much") {
		t.Errorf("got %v and %v", conditions, err)
	}
}
