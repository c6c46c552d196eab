package subscriptions

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestBudget(t *testing.T) {
	number := func(n int32) *intstr.IntOrString { return new(intstr.FromInt32(n)) }
	percentage := func(text string) *intstr.IntOrString { return new(intstr.FromString(text)) }
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"), installtest.DeploymentOf("other")), installtest.ServedBy("manager"))
	specs := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	for text, want := range map[string]*Budget{
		"maxUnavailable=1":                {MaxUnavailable: number(1)},
		"maxUnavailable = 25%":            {MaxUnavailable: percentage("25%")},
		"maxUnavailable=0":                {MaxUnavailable: number(0)},
		"minAvailable=2":                  {MinAvailable: number(2)},
		"minAvailable=100%":               {MinAvailable: percentage("100%")},
		"":                                nil,
		"1":                               nil,
		"maxUnavailable":                  nil,
		"maxUnavailable=":                 nil,
		"maxUnavailable=-1":               nil,
		"maxUnavailable=1.5":              nil,
		"maxUnavailable=101%":             nil,
		"maxUnavailable=%":                nil,
		"maxUnavailable=99999999999":      nil,
		"maxunavailable=1":                nil,
		"minAvailable=1,maxUnavailable=1": nil,
	} {
		config := Config{Subscription: "shop", SubscriptionConfig: operatorsv1alpha1.SubscriptionConfig{Annotations: prefixed(map[string]string{"availability-disruption-budget": text})}}
		installtest.Same(t, text, want, config.Availability(csv, specs[0]).Budget)
		installtest.Same(t, text+": for a Deployment without a webhook", nil, config.Availability(csv, specs[1]).Budget)
		installtest.Same(t, text+": whether there is one", want != nil, config.HasBudget(csv))
		var refusals []string
		if want == nil {
			refusals = []string{"Subscription shop: spec.config.annotations, olm-webhook-manager.io/availability-disruption-budget is \"" + text +
				"\", which is no limit: set one such as \"maxUnavailable=1\" or \"minAvailable=50%\""}
		}
		installtest.Same(t, text+": refusals", refusals, config.Refusals(csv))
	}
	installtest.Same(t, "whether there is one without the annotation", false, Config{}.HasBudget(csv))
	installtest.Same(t, "the message about a Deployment", "ClusterServiceVersion shop.v1: metadata.annotations, olm-webhook-manager.io/availability-disruption-budget does not apply to Deployment manager, because of x",
		Config{}.RefuseBudget(csv, "manager", "of x"))
}
