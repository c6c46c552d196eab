package certs

import (
	"crypto/x509"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// readUnusableCA looks for a CA that another client put into the Secret and that can verify
// nothing, because it has expired or cannot be parsed. The CA of the current certificate expires
// with that, which is replaced for its own sake.
func (s *state) readUnusableCA(secret *corev1.Secret, now time.Time) {
	for _, key := range []string{wellknown.KeyCA, wellknown.KeyOLMCA} {
		text := secret.Data[key]
		if len(text) == 0 {
			continue
		}
		of := func(ca *x509.Certificate) bool {
			return now.Before(ca.NotAfter) || s.current != nil && ca.Equal(s.current.ca())
		}
		if !slices.ContainsFunc(parse(text), of) {
			s.unusableCA = hexSHA256(text)
		}
	}
}

// noteUnusableCA has pods be restarted for the generation that is stored because of an unusable
// CA. A rotation that begins for another reason restarts nothing.
func (m *machine) noteUnusableCA(s *corev1.Secret) {
	switch {
	case m.unusableCA != "":
		s.Annotations[wellknown.AnnotationUnusableCA] = m.unusableCA
	case m.current != nil:
		delete(s.Annotations, wellknown.AnnotationUnusableCA)
	}
}
