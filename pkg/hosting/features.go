package hosting

import "k8s.io/component-base/featuregate"

// CloudWebhookServer is the feature gate of KEP-2699. It says how mature hosting webhooks
// is, and lets an administrator keep the listener from being started:
//
//	--feature-gates=CloudWebhookServer=false
const CloudWebhookServer featuregate.Feature = "CloudWebhookServer"

// newFeatureGate has the feature on: its author has registered webhooks to have them
// served.
func newFeatureGate() (featuregate.MutableFeatureGate, error) {
	gate := featuregate.NewFeatureGate()
	return gate, gate.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		CloudWebhookServer: {Default: true, PreRelease: featuregate.Beta},
	})
}
