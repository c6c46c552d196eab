package certs

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// misdated tells whether a step was taken at an instant that is yet to come: this clock
// was set back since, or another manager's is ahead. What is counted from such an instant
// would take as much longer.
func (m *machine) misdated() bool {
	return m.begun.After(m.now) || m.trusted.After(m.now) || m.promoted.After(m.now)
}

// redate counts from now on.
func (m *machine) redate(s *corev1.Secret) {
	for annotation, at := range map[string]time.Time{wellknown.AnnotationNextStoredAt: m.begun, wellknown.AnnotationPromotedAt: m.promoted} {
		if at.After(m.now) {
			note(s, annotation, m.now)
		}
	}
	if m.trusted.After(m.now) {
		delete(s.Annotations, wellknown.AnnotationNextTrustedAt) // and is noted again by live facts
	}
}
