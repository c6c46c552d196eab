package registration

import (
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// GenerationOf is 0 if another client may have written the number, which would prevent repairs.
func GenerationOf(o drift.Object) int64 {
	if !drift.SoleOwner(o, drift.GenerationField) {
		return 0
	}
	return AnnotatedGeneration(o)
}

// TrustsLater reports whether the manager wrote a live registration for a later generation.
func TrustsLater(live, wanted drift.Object) bool {
	return certgeneration.Later(GenerationOf(live), AnnotatedGeneration(wanted))
}

// AnnotatedGeneration returns the generation in the annotation, of any writer; 0 for none.
func AnnotatedGeneration(o drift.Object) int64 {
	return certgeneration.Parse(o.GetAnnotations()[wellknown.AnnotationGeneration])
}
