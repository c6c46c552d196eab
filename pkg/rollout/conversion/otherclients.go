package conversion

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// SetUpByOther ignores placeholders, which have no certificate. A write of the manager leaves its annotation or a field.
func SetUpByOther(crd *apiextensionsv1.CustomResourceDefinition) bool {
	conversion := crd.Spec.Conversion
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil {
		return false
	}
	wrote := func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == wellknown.FieldManager && !drift.ConversionFields(entry).Union(drift.FieldsOf(entry).Intersection(drift.GenerationField)).Empty()
	}
	called := conversion.Webhook.ClientConfig
	return (called.URL != nil || len(CertificatesOf(called.CABundle)) > 0) && !slices.ContainsFunc(crd.ManagedFields, wrote)
}

// LastOtherWriter prefers the owner of the conversion. It is empty for several writers within one second.
func LastOtherWriter(crd *apiextensionsv1.CustomResourceDefinition) (by string, at time.Time) {
	var writers, owners []string
	for _, entry := range crd.ManagedFields {
		if entry.Time == nil || entry.Subresource != "" || entry.Manager == wellknown.FieldManager || entry.Time.Time.Before(at) {
			continue
		}
		if entry.Time.After(at) {
			writers, owners, at = nil, nil, entry.Time.Time
		}
		writers = append(writers, entry.Manager)
		if !drift.ConversionFields(entry).Empty() {
			owners = append(owners, entry.Manager)
		}
	}
	for _, candidates := range [][]string{writers, owners} {
		slices.Sort(candidates)
		if candidates = slices.Compact(candidates); len(candidates) == 1 {
			return candidates[0], at
		}
	}
	return "", time.Time{}
}
