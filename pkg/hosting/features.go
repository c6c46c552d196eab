package hosting

import "k8s.io/component-base/featuregate"

// CloudWebhookServer is the feature gate of KEP-2699. Its stage is the maturity of this package. An
// administrator can disable serving:
//
//	--feature-gates=CloudWebhookServer=false
const CloudWebhookServer featuregate.Feature = "CloudWebhookServer"

// newFeatureGate returns a gate with the feature enabled: an author registers webhooks to serve them.
func newFeatureGate() (featuregate.MutableFeatureGate, error) {
	gate := featuregate.NewFeatureGate()
	return gate, gate.Add(map[featuregate.Feature]featuregate.FeatureSpec{
		CloudWebhookServer: {Default: true, PreRelease: featuregate.Beta},
	})
}
