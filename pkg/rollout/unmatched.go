package rollout

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// mostUnmatched is how many rules are explained: the message holds fewer.
const mostUnmatched = 100

// setRulesMatchNothing reports the rules that name what the API server does not serve. It
// changes nothing about the registration: what is named may be served later.
func (p *planner) setRulesMatchNothing(status *managerv1alpha1.WebhookRolloutStatus) {
	var messages []string
	for i, d := range p.CSV.Spec.WebhookDefinitions[:csvspec.WebhooksWithinLimit(p.CSV)] {
		if d.Type == operatorsv1alpha1.ConversionWebhook {
			continue
		}
		if len(messages) > mostUnmatched {
			break
		}
		for _, u := range rules.Mismatches(d, p.Observed.Catalog) {
			messages = append(messages, fmt.Sprintf("webhook %s is not called for spec.webhookdefinitions[%d].rules[%d]: %s; %s", d.GenerateName, i, u.Rule, u.What, u.WayOut))
		}
	}
	if len(messages) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionRulesMatchNothing)
		return
	}
	p.setCondition(status, metav1.Condition{
		Type: managerv1alpha1.ConditionRulesMatchNothing, Status: metav1.ConditionTrue, Reason: managerv1alpha1.ConditionRulesMatchNothing,
		Message: bounded(strings.Join(messages, "; ")),
	})
}

// bounded is a message that the API server takes, however many mistakes an author makes.
func bounded(message string) string {
	const longest = 8000
	if len(message) <= longest {
		return message
	}
	return strings.ToValidUTF8(message[:longest], "") + "..."
}
