package subscriptions

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestDisabled(t *testing.T) {
	conversion := installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
		d.Type, d.GenerateName = operatorsv1alpha1.ConversionWebhook, "c.example.com"
	})
	mutate := installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
		d.Type, d.GenerateName = installtest.Mutating, "m.example.com"
	})
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager"), mutate, conversion)
	for name, test := range map[string]struct {
		value    string
		disabled []bool
		refusals []string
	}{
		"nothing":         {"", []bool{false, false, false}, nil},
		"one":             {"m.example.com", []bool{false, true, false}, nil},
		"two, with space": {" v.shop.example.com, m.example.com,", []bool{true, true, false}, nil},
		"a name that is none": {"v", []bool{false, false, false}, []string{
			`Subscription shop: spec.config.annotations, olm-webhook-manager.io/disabled-webhooks, names "v", which is no webhook of ClusterServiceVersion shop.v1: its webhooks are v.shop.example.com, m.example.com`,
		}},
		"a conversion webhook": {"c.example.com,m.example.com", []bool{false, true, false}, []string{
			`Subscription shop: spec.config.annotations, olm-webhook-manager.io/disabled-webhooks, names "c.example.com", a conversion webhook, without which its objects could not be read: remove the name`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{Subscription: "shop", SubscriptionConfig: operatorsv1alpha1.SubscriptionConfig{
				Annotations: map[string]string{"olm-webhook-manager.io/disabled-webhooks": test.value},
			}}
			var disabled []bool
			for _, d := range csv.Spec.WebhookDefinitions {
				disabled = append(disabled, config.Disabled(d))
			}
			if diff := cmp.Diff(test.disabled, disabled); diff != "" {
				t.Errorf("disabled (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.refusals, config.Refusals(csv)); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}
