package registration

import (
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// GenerationOf is the number of the certificate generation that a registration
// trusts; 0 when it does not say, and when another client than the manager may have said so: an
// edited number would keep a live registration from being repaired.
func GenerationOf(o drift.Object) int64 {
	if !drift.SoleOwner(o, drift.GenerationField) {
		return 0
	}
	return AnnotatedGeneration(o)
}

// TrustsLater reports whether the manager wrote a live registration for a later certificate
// generation than the one that is wanted is for.
func TrustsLater(live, wanted drift.Object) bool {
	return certgeneration.Later(GenerationOf(live), AnnotatedGeneration(wanted))
}

// AnnotatedGeneration is the number that a registration says, whoever wrote it; 0 for none.
func AnnotatedGeneration(o drift.Object) int64 {
	return certgeneration.Parse(o.GetAnnotations()[wellknown.AnnotationGeneration])
}
