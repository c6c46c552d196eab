package write

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func (w *Writer) convert(ctx context.Context, live drift.Object, desired *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	return patch(ctx, w.Extensions.ApiextensionsV1().CustomResourceDefinitions(), desired, wellknown.FieldManager,
		map[string]any{"annotations": annotationPatch(live.(*apiextensionsv1.CustomResourceDefinition), desired)},
		map[string]any{"spec": map[string]any{"conversion": conversionPatch(desired.Spec.Conversion)}})
}

func annotationPatch(live, desired *apiextensionsv1.CustomResourceDefinition) map[string]any {
	patch := map[string]any{wellknown.AnnotationGeneration: nil, wellknown.AnnotationPropagated: nil}
	for _, annotation := range conversion.Propagated(live) {
		patch[annotation] = nil
	}
	for annotation, value := range desired.Annotations {
		patch[annotation] = value
	}
	return patch
}

// A merge patch keeps fields that it does not name, and the API server refuses a URL together with a Service.
func conversionPatch(conversion *apiextensionsv1.CustomResourceConversion) map[string]any {
	if conversion.Webhook == nil {
		return map[string]any{"strategy": conversion.Strategy, "webhook": nil}
	}
	return map[string]any{"strategy": conversion.Strategy, "webhook": map[string]any{
		"conversionReviewVersions": conversion.Webhook.ConversionReviewVersions,
		"clientConfig": map[string]any{
			"url":      nil,
			"service":  conversion.Webhook.ClientConfig.Service,
			"caBundle": conversion.Webhook.ClientConfig.CABundle,
		},
	}}
}
