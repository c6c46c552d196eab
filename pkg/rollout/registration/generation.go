package registration

import (
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// GenerationOf returns the certificate generation that a registration trusts; 0 if it is not
// recorded, or another client may have written it. An edited number would prevent repairs.
func GenerationOf(o drift.Object) int64 {
	if !drift.SoleOwner(o, drift.GenerationField) {
		return 0
	}
	return AnnotatedGeneration(o)
}

// TrustsLater reports whether the manager wrote a live registration for a later generation than the
// desired one.
func TrustsLater(live, wanted drift.Object) bool {
	return certgeneration.Later(GenerationOf(live), AnnotatedGeneration(wanted))
}

// AnnotatedGeneration returns the generation in the annotation, of any writer; 0 for none.
func AnnotatedGeneration(o drift.Object) int64 {
	return certgeneration.Parse(o.GetAnnotations()[wellknown.AnnotationGeneration])
}
