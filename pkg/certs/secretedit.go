package certs

import (
	"cmp"
	"crypto/x509"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// editor changes the Secret for a step of a rotation.
type editor struct{ *rotation }

func (m *rotation) edit() editor { return editor{m} }

// renumber gives the next generation a new number. Registrations are written for it.
func (m editor) renumber(s *corev1.Secret) {
	m.storeNext(s, m.next)
	if m.current == nil {
		m.emptyPair(s)
	}
}

// promote gives the next generation to pods, and keeps the trust in what they serve until they
// reload.
func (m editor) promote(s *corev1.Secret) {
	previous, ends, annotations := slices.Clone(m.previous), m.previousExpiresAt, maps.Clone(s.Annotations)
	if m.current != nil {
		previous = append([]*x509.Certificate{m.current.ca()}, previous...)
		if last := m.servedUntil(); last.After(ends) {
			ends = last
		}
	}
	previous = slices.DeleteFunc(previous, m.next.ca().Equal)
	m.storeCurrent(s, m.next, m.nextIssuer)
	for _, request := range []string{wellknown.AnnotationLastRotationRequest, wellknown.AnnotationLastRotateAt} {
		if annotations[request] != "" {
			s.Annotations[request] = annotations[request]
		} else if m.annotated {
			delete(s.Annotations, request) // a later request is for another rotation
		}
	}
	if because := annotations[wellknown.AnnotationUnusableCA]; because != "" {
		s.Annotations[wellknown.AnnotationUnusableCA] = because
	}
	m.keepPrevious(s, previous, ends)
}

// keepPrevious keeps the trust in previous CAs until pods serve the current generation.
func (m editor) keepPrevious(s *corev1.Secret, previous []*x509.Certificate, ends time.Time) {
	if len(previous) > 0 {
		s.Data[wellknown.KeyPreviousCAs] = encode(newestFirst(trustworthy(previous, m.now))...)
	}
	recordTime(s, wellknown.AnnotationPromotedAt, m.now)
	recordTime(s, wellknown.AnnotationPreviousExpiresAt, ends)
}

// with returns m with the entries of more, which override those of m.
func with[V any](m, more map[string]V) map[string]V {
	if m == nil {
		return more
	}
	maps.Copy(m, more)
	return m
}

func (m editor) recordRecreation(s *corev1.Secret) {
	s.Annotations[wellknown.AnnotationRecreatedFor] = m.recreatedFor()
}

func (m *rotation) recreatedFor() string {
	return cmp.Or(m.Secret.Annotations[wellknown.AnnotationFingerprint], "none")
}

func (m editor) resetTimes(s *corev1.Secret) {
	for annotation, at := range map[string]time.Time{wellknown.AnnotationNextStoredAt: m.nextStoredAt, wellknown.AnnotationPromotedAt: m.promotedAt} {
		if at.After(m.now) {
			recordTime(s, annotation, m.now)
		}
	}
	if m.nextTrustedAt.After(m.now) {
		delete(s.Annotations, wellknown.AnnotationNextTrustedAt) // live facts record it again
	}
}

func (m editor) recordRequests(s *corev1.Secret) {
	if m.RotationRequest != "" {
		s.Annotations[wellknown.AnnotationLastRotationRequest] = m.RotationRequest
	}
	delete(s.Annotations, wellknown.AnnotationLastRotateAt)
	if m.RotateAt != "" {
		s.Annotations[wellknown.AnnotationLastRotateAt] = m.RotateAt
	}
}

// endRotation ends the trust in all CAs except the current one, and the rotation.
func (m editor) endRotation(s *corev1.Secret) {
	delete(s.Data, wellknown.KeyPreviousCAs)
	delete(s.Annotations, wellknown.AnnotationPromotedAt)
	delete(s.Annotations, wellknown.AnnotationPreviousExpiresAt)
	delete(s.Annotations, wellknown.AnnotationUnusableCA)
}

// emptyPair removes an unusable pair, and records the CAs of what pods may serve. These include
// the registered CAs, so this needs live facts. The API server requires the keys of the pair, so
// they stay with empty values.
func (m editor) emptyPair(s *corev1.Secret) {
	m.recordUnusableCA(s)
	s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = []byte{}, []byte{}
	delete(s.Data, wellknown.KeyCA)
	delete(s.Data, wellknown.KeyOLMCA)
	delete(s.Annotations, wellknown.AnnotationFingerprint)
	served := trustworthy(newestFirst(append(m.registeredCAs(), m.previous...)), m.now)
	s.Data[wellknown.KeyPreviousCAs] = encode(served...)
	recordTime(s, wellknown.AnnotationPreviousExpiresAt, m.lastExpiry(served))
}

// endPreviousTrust ends the trust in all CAs except the current one, which another issuer has to
// replace. Pods are still updated.
func (m editor) endPreviousTrust(s *corev1.Secret) {
	delete(s.Data, wellknown.KeyPreviousCAs)
	delete(s.Annotations, wellknown.AnnotationPreviousExpiresAt)
}

// complete adds what the Secret lacks. Pods mount ca.crt: without the key new pods do not start,
// and running pods get no updates.
func (m editor) complete(s *corev1.Secret) {
	if m.unidentified {
		m.reconstruct(s)
	}
	s.Data[wellknown.KeyCA] = m.current.CA
	if !m.managerIssues() && m.unusableCA != "" { // no other certificate can be requested
		s.Data[wellknown.KeyCA], s.Data[wellknown.KeyOLMCA] = encode(m.current.ca()), encode(m.current.ca())
	}
	s.Annotations[wellknown.AnnotationFingerprint] = m.current.leaf()
	if m.wrongProvider() {
		s.Annotations[wellknown.AnnotationCertificateProvider] = string(m.Issuer)
	}
}

// reconstruct adds the annotations to a Secret that has lost them. Requests count as carried out.
// It is unknown what pods serve: all registered CAs stay trusted until pods serve the current
// certificate, so this needs live facts.
func (m editor) reconstruct(s *corev1.Secret) {
	others := slices.DeleteFunc(append(m.registeredCAs(), m.previous...), m.current.ca().Equal)
	byOLM := len(s.Data[wellknown.KeyCA]) == 0 // OLM v0 restarts pods with each rotation
	if !m.annotated {
		m.recordRequests(s)
	}
	if byOLM && len(others) == 0 {
		return
	}
	if !m.annotated {
		s.Annotations[wellknown.AnnotationGeneration] = strconv.FormatInt(m.nextNumber(), 10)
	}
	if !m.Running && len(others) == 0 {
		return
	}
	ends := m.lastExpiry(others)
	if last := m.servedUntil(); last.After(ends) {
		ends = last
	}
	m.keepPrevious(s, others, ends)
}

// recordUnusableCA has pods restarted for a generation that is stored because of an unusable CA.
// Other rotations restart nothing.
func (m editor) recordUnusableCA(s *corev1.Secret) {
	switch {
	case m.unusableCA != "":
		s.Annotations[wellknown.AnnotationUnusableCA] = m.unusableCA
	case m.current != nil:
		delete(s.Annotations, wellknown.AnnotationUnusableCA)
	}
}

func (m editor) storeNext(s *corev1.Secret, next *keyPair) {
	s.Data[wellknown.KeyNextCertificate] = next.Certificate
	s.Data[wellknown.KeyNextKey] = next.Key
	s.Data[wellknown.KeyNextCA] = encode(next.ca())
	s.Annotations[wellknown.AnnotationNextGeneration] = strconv.FormatInt(m.numberFor(next), 10)
	s.Annotations[wellknown.AnnotationNextProvider] = string(m.Issuer)
	recordTime(s, wellknown.AnnotationNextStoredAt, m.now)
	m.recordRequests(s)
	m.recordUnusableCA(s)
	delete(s.Annotations, wellknown.AnnotationNextTrustedAt)
}

// storeCurrent gives a generation to pods, and removes all others.
func (m editor) storeCurrent(s *corev1.Secret, g *keyPair, issuer managerv1alpha1.CertificateProvider) {
	ca := encode(g.ca())
	s.Data[corev1.TLSCertKey] = g.Certificate
	s.Data[corev1.TLSPrivateKeyKey] = g.Key
	s.Data[wellknown.KeyCA] = ca
	s.Data[wellknown.KeyOLMCA] = ca
	s.Annotations[wellknown.AnnotationCAHash] = hexSHA256(ca)
	s.Annotations[wellknown.AnnotationFingerprint] = g.leaf()
	s.Annotations[wellknown.AnnotationGeneration] = strconv.FormatInt(m.numberFor(g), 10)
	s.Annotations[wellknown.AnnotationCertificateProvider] = string(issuer)
	s.Annotations[wellknown.AnnotationUpdatedAt] = m.now.UTC().Format(time.RFC3339)
	m.recordRequests(s)
	m.forgetNext(s)
	m.endRotation(s)
}

func (m editor) forgetNext(s *corev1.Secret) {
	for _, key := range []string{wellknown.KeyNextCertificate, wellknown.KeyNextKey, wellknown.KeyNextCA} {
		delete(s.Data, key)
	}
	for _, a := range []string{wellknown.AnnotationNextGeneration, wellknown.AnnotationNextProvider, wellknown.AnnotationNextStoredAt, wellknown.AnnotationNextTrustedAt} {
		delete(s.Annotations, a)
	}
}

func recordTime(s *corev1.Secret, annotation string, at time.Time) {
	s.Annotations[annotation] = at.UTC().Format(time.RFC3339Nano)
}
