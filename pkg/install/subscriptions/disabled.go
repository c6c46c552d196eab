package subscriptions

import (
	"fmt"
	"slices"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Disabled tells whether the administrator has taken a webhook out of service. A
// conversion webhook cannot be: its objects could not be read. Nor can an owned APIService:
// it stands in nobody's way.
func (c Config) Disabled(d operatorsv1alpha1.WebhookDescription) bool {
	return !csvspec.StaysRegistered(csvspec.IdentityOf(d)) && slices.Contains(c.disabledNames(), d.GenerateName)
}

func (c Config) disabledNames() []string {
	value, _ := c.Instruction(wellknown.AnnotationDisabledWebhooks)
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
}

// disabledInVain says which names of webhooks to disable are not followed, and why.
func (c Config) disabledInVain(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	var vain []string
	for _, name := range c.disabledNames() {
		described := slices.IndexFunc(csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) bool { return d.GenerateName == name })
		switch {
		case described < 0:
			vain = append(vain, fmt.Sprintf("%q, which is no webhook of ClusterServiceVersion %s: its webhooks are %s", name, csv.Name, strings.Join(generateNames(csv), ", ")))
		case csv.Spec.WebhookDefinitions[described].Type == operatorsv1alpha1.ConversionWebhook:
			vain = append(vain, fmt.Sprintf("%q, a conversion webhook, without which its objects could not be read: remove the name", name))
		}
	}
	return vain
}

func generateNames(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	var names []string
	for _, d := range csv.Spec.WebhookDefinitions {
		if d.Type != operatorsv1alpha1.ConversionWebhook {
			names = append(names, d.GenerateName)
		}
	}
	return names
}
