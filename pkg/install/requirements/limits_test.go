package requirements

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func wideRule(groups, resources int) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{APIGroups: installtest.ListOf(groups), Resources: installtest.ListOf(resources)}}
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
		"long names":                  {webhooks(admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{APIGroups: []string{strings.Repeat("a", 6400), "b"}, Resources: installtest.ListOf(101)}}), 0},
		"one rule":                    {webhooks(wideRule(101, 100)), 0},
		"more than an integer can be": {webhooks(wideRule(1<<16, 1<<16), wideRule(1<<16, 1<<16)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "narrow webhooks", c.want, csvspec.WebhooksWithinLimit(c.csv))
			violated := c.want < len(c.csv.Spec.WebhookDefinitions)
			if got := Check(Facts{CSV: c.csv}).Violations; violated != (len(got) == 1 && got[0].Kind == TooManyCombinations && got[0].Webhook == c.want) {
				t.Errorf("violations are %v", got)
			}
			for i, d := range csvspec.LimitRules(c.csv).Spec.WebhookDefinitions {
				installtest.Same(t, fmt.Sprintf("webhook %d has rules", i), i < c.want, len(d.Rules) > 0)
			}
			for i, d := range c.csv.Spec.WebhookDefinitions {
				if len(d.Rules) == 0 {
					t.Errorf("webhook %d of the ClusterServiceVersion itself has lost its rules", i)
				}
			}
		})
	}
}
