package install

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

func listOf(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("item%d", i))
	}
	return all
}

func wideRule(groups, resources int) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{APIGroups: listOf(groups), Resources: listOf(resources)}}
}

func TestNarrow(t *testing.T) {
	webhooks := func(rules ...admissionregistrationv1.RuleWithOperations) *operatorsv1alpha1.ClusterServiceVersion {
		csv := &operatorsv1alpha1.ClusterServiceVersion{}
		for i, rule := range rules {
			csv.Spec.WebhookDefinitions = append(csv.Spec.WebhookDefinitions, operatorsv1alpha1.WebhookDescription{
				GenerateName: fmt.Sprintf("w%d.example.com", i), Rules: []admissionregistrationv1.RuleWithOperations{rule},
			})
		}
		return csv
	}
	for name, c := range map[string]struct {
		csv  *operatorsv1alpha1.ClusterServiceVersion
		want int
	}{
		"no webhook":                  {webhooks(), 0},
		"at the limit":                {webhooks(wideRule(100, 50), wideRule(50, 100)), 2},
		"above the limit":             {webhooks(wideRule(100, 50), wideRule(50, 100), wideRule(1, 1)), 2},
		"long names":                  {webhooks(admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{APIGroups: []string{strings.Repeat("a", 6400), "b"}, Resources: listOf(101)}}), 0},
		"one rule":                    {webhooks(wideRule(101, 100)), 0},
		"more than an integer can be": {webhooks(wideRule(1<<16, 1<<16), wideRule(1<<16, 1<<16)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Narrow(c.csv); got != c.want {
				t.Errorf("%d webhooks are narrow, want %d", got, c.want)
			}
			violated := c.want < len(c.csv.Spec.WebhookDefinitions)
			if got := Check(Facts{CSV: c.csv}).Violations; violated != (len(got) == 1 && got[0].Kind == TooManyCombinations && got[0].Webhook == c.want) {
				t.Errorf("violations are %v", got)
			}
			for i, d := range withoutWide(c.csv).Spec.WebhookDefinitions {
				if (len(d.Rules) > 0) != (i < c.want) {
					t.Errorf("webhook %d has %d rules where %d are narrow", i, len(d.Rules), c.want)
				}
			}
			for i, d := range c.csv.Spec.WebhookDefinitions {
				if len(d.Rules) == 0 {
					t.Errorf("webhook %d of the ClusterServiceVersion itself has lost its rules", i)
				}
			}
		})
	}
}

// A ClusterServiceVersion whose permissions have too many combinations is not compared with what accounts may do.
func TestPermissionCombinations(t *testing.T) {
	rule := rbacv1.PolicyRule{Verbs: listOf(300), APIGroups: listOf(300), Resources: listOf(300), ResourceNames: listOf(300)}
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{ServiceAccountName: "server", Rules: []rbacv1.PolicyRule{rule, rule}}}
	if got := PermissionCombinations(csv); got <= MaxGrants {
		t.Errorf("it has %d combinations", got)
	}
	all := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	if covers([]rbacv1.PolicyRule{all}, rule) {
		t.Error("a rule with too many combinations is compared")
	}
	for want, rule := range map[int]rbacv1.PolicyRule{
		6: {Verbs: listOf(2), APIGroups: listOf(1), Resources: listOf(3)},
		8: {Verbs: listOf(2), NonResourceURLs: listOf(4)},
		4: {Verbs: listOf(1), APIGroups: listOf(1), Resources: listOf(2), ResourceNames: listOf(2)},
		0: {APIGroups: listOf(1), Resources: listOf(2)},
	} {
		if got := GrantCombinations(rule); got != want {
			t.Errorf("%+v has %d combinations, want %d", rule, got, want)
		}
	}
}
