package certs

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// turnLength is how long a rotation holds up others at most: one whose pods are stuck
// must not keep all certificates of the cluster from being replaced.
const turnLength = 2 * time.Minute

// UnderWay tells whether the certificate in a Secret is being replaced, and counts for
// Facts.Rotating.
func UnderWay(secret *corev1.Secret, now time.Time) bool {
	for _, step := range []string{vocabulary.AnnotationBegun, vocabulary.AnnotationPromoted} {
		if at := instantIn(secret, step); !at.IsZero() && !at.After(now) && now.Sub(at) < turnLength {
			return true
		}
	}
	return false
}
