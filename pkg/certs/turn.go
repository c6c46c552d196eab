package certs

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// turnLength is how long a rotation holds up others at most: one whose pods are stuck
// must not keep all certificates of the cluster from being replaced.
const turnLength = 2 * time.Minute

// UnderWay tells whether the certificate in a Secret is being replaced, and counts for
// Facts.Rotating.
func UnderWay(secret *corev1.Secret, now time.Time) bool {
	for _, step := range []string{wellknown.AnnotationNextStoredAt, wellknown.AnnotationPromotedAt} {
		if at := instantIn(secret, step); !at.IsZero() && !at.After(now) && now.Sub(at) < turnLength {
			return true
		}
	}
	return false
}

// Replacing reports whether a Secret says that its certificate is being replaced, however long ago that
// began: UnderWay can be true of no other.
func Replacing(secret *corev1.Secret) bool {
	return secret.Annotations[wellknown.AnnotationNextStoredAt] != "" || secret.Annotations[wellknown.AnnotationPromotedAt] != ""
}
