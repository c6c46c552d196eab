package decide

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
)

// KindsOf returns those of the webhook configurations of a Trust.
func KindsOf(t Trust) webhookconfig.Kinds {
	kinds := webhookconfig.Kinds{Validating: len(t.Validating) > 0, Mutating: len(t.Mutating) > 0}
	for _, o := range t.Unlabelled {
		kinds.Add(o)
	}
	return kinds
}

// DeclaredKinds returns those of the webhooks that a ClusterServiceVersion declares.
func DeclaredKinds(csv *operatorsv1alpha1.ClusterServiceVersion) (kinds webhookconfig.Kinds) {
	for _, w := range csv.Spec.WebhookDefinitions {
		kinds.Validating = kinds.Validating || w.Type == operatorsv1alpha1.ValidatingAdmissionWebhook
		kinds.Mutating = kinds.Mutating || w.Type == operatorsv1alpha1.MutatingAdmissionWebhook
	}
	return kinds
}
