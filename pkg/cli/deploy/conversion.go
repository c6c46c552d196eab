package deploy

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// settledConversion is the conversion of a live definition once the operator is installed: the bundle's if it names a
// webhook that the ClusterServiceVersion does not declare, otherwise the live one. The manager sets up and ends what is
// declared, and ends conversions of older versions; any other one is another owner's.
func settledConversion(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) *apiextensionsv1.CustomResourceConversion {
	if live.Spec.Conversion != nil && !hasOwnConversion(next, csv) {
		return live.Spec.Conversion.DeepCopy()
	}
	settled := bundledConversion(next, csv)
	if haveSameTarget(live, next) && len(settled.Webhook.ClientConfig.CABundle) == 0 {
		settled.Webhook.ClientConfig.CABundle = live.Spec.Conversion.Webhook.ClientConfig.CABundle
	}
	return settled
}

// bundledConversion returns the conversion that a new definition gets from the bundle. The webhook of the definition is
// not used if the ClusterServiceVersion declares one: the manager sets that one up, and the notice shows it alone.
func bundledConversion(next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) *apiextensionsv1.CustomResourceConversion {
	if webhookConverts(next) && csvspec.Converts(csv, next.Name) >= 0 {
		return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	return next.Spec.Conversion.DeepCopy()
}

// openingConversion returns the conversion until then. A current conversion webhook stays.
func openingConversion(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) *apiextensionsv1.CustomResourceConversion {
	if webhookConverts(live) {
		return live.Spec.Conversion.DeepCopy()
	}
	return settledConversion(live, next, csv)
}

// TakesConversion reports whether the bundle would replace the conversion webhook of a definition.
func TakesConversion(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return webhookConverts(live) && hasOwnConversion(next, csv) && !haveSameTarget(live, next)
}

// KeepsConversion returns the message that a definition keeps a conversion that the bundle does not have, or "".
func KeepsConversion(live, next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) string {
	if !webhookConverts(live) || hasOwnConversion(next, csv) || csvspec.Converts(csv, next.Name) >= 0 {
		return ""
	}
	return fmt.Sprintf("CustomResourceDefinition %s keeps its conversion by %s, which the bundle does not have", live.Name, converter(live))
}

// hasOwnConversion reports whether a definition of a bundle names a webhook that the manager does not set up.
func hasOwnConversion(next *apiextensionsv1.CustomResourceDefinition, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return target(next) != nil && csvspec.Converts(csv, next.Name) < 0
}

func haveSameTarget(a, b *apiextensionsv1.CustomResourceDefinition) bool {
	one, other := target(a), target(b)
	return one != nil && other != nil && equality.Semantic.DeepEqual(one, other)
}

// target returns whom a definition's webhook calls: its clientConfig with defaults, without a caBundle; nil for none.
func target(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.WebhookClientConfig {
	if !webhookConverts(crd) || crd.Spec.Conversion.Webhook == nil || crd.Spec.Conversion.Webhook.ClientConfig == nil {
		return nil
	}
	config := crd.Spec.Conversion.Webhook.ClientConfig.DeepCopy()
	config.CABundle = nil
	if s := config.Service; s != nil && s.Port == nil {
		s.Port = new(int32(443))
	}
	return config
}

func converter(crd *apiextensionsv1.CustomResourceDefinition) string {
	switch config := target(crd); {
	case config != nil && config.Service != nil:
		return fmt.Sprintf("Service %s/%s", config.Service.Namespace, config.Service.Name)
	case config != nil && config.URL != nil:
		return "URL " + *config.URL
	default:
		return "a webhook"
	}
}
