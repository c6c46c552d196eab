package rollout

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// ConvertedByAnother reports whether another client than the manager has set up the conversion of a
// definition, and API servers can call it. A caBundle without a certificate is that of a placeholder,
// which bundles have. What the manager wrote leaves its annotation, or a field that the other client
// did not change.
func ConvertedByAnother(crd *apiextensionsv1.CustomResourceDefinition) bool {
	conversion := crd.Spec.Conversion
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil {
		return false
	}
	wrote := func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == vocabulary.FieldManager && !drift.ConversionFields(entry).Union(drift.FieldsOf(entry).Intersection(drift.GenerationField)).Empty()
	}
	called := conversion.Webhook.ClientConfig
	return (called.URL != nil || len(authorities(called.CABundle)) > 0) && !slices.ContainsFunc(crd.ManagedFields, wrote)
}
