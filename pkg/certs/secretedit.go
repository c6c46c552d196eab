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

// editor changes the Secret as a step of a rotation does.
type editor struct{ *rotation }

func (m *rotation) edit() editor { return editor{m} }

// recount gives next a number that registrations are written for.
func (m editor) recount(s *corev1.Secret) {
	m.storeNext(s, m.next)
	if m.current == nil {
		m.hide(s)
	}
}

// promote gives next to pods, and goes on trusting what they serve until they do.
func (m editor) promote(s *corev1.Secret) {
	previous, ends, followed := slices.Clone(m.previous), m.previousEnds, maps.Clone(s.Annotations)
	if m.current != nil {
		previous = append([]*x509.Certificate{m.current.ca()}, previous...)
		if last := m.servedUntil(); last.After(ends) {
			ends = last
		}
	}
	previous = slices.DeleteFunc(previous, m.next.ca().Equal)
	m.storeCurrent(s, m.next, m.nextIssuer)
	for _, order := range []string{wellknown.AnnotationLastRotationRequest, wellknown.AnnotationLastRotateAt} {
		if followed[order] != "" {
			s.Annotations[order] = followed[order]
		} else if m.noted {
			delete(s.Annotations, order) // one that came since is for another rotation
		}
	}
	if because := followed[wellknown.AnnotationUnusableCA]; because != "" {
		s.Annotations[wellknown.AnnotationUnusableCA] = because
	}
	m.awaitProof(s, previous, ends)
}

// awaitProof has previous trusted until pods are seen to serve the current generation.
func (m editor) awaitProof(s *corev1.Secret, previous []*x509.Certificate, ends time.Time) {
	if len(previous) > 0 {
		s.Data[wellknown.KeyPreviousCAs] = encode(newestFirst(trustworthy(previous, m.now))...)
	}
	note(s, wellknown.AnnotationPromotedAt, m.now)
	note(s, wellknown.AnnotationPreviousExpiresAt, ends)
}

// with is m and more, where more wins.
func with[V any](m, more map[string]V) map[string]V {
	if m == nil {
		return more
	}
	maps.Copy(m, more)
	return m
}

// thaw changes nothing but the note that the Secret was created again.
func (m editor) thaw(s *corev1.Secret) {
	s.Annotations[wellknown.AnnotationRecreatedFor] = m.recreatedFor()
}

func (m *rotation) recreatedFor() string {
	return cmp.Or(m.Secret.Annotations[wellknown.AnnotationFingerprint], "none")
}

// redate counts from now on.
func (m editor) redate(s *corev1.Secret) {
	for annotation, at := range map[string]time.Time{wellknown.AnnotationNextStoredAt: m.begun, wellknown.AnnotationPromotedAt: m.promoted} {
		if at.After(m.now) {
			note(s, annotation, m.now)
		}
	}
	if m.trusted.After(m.now) {
		delete(s.Annotations, wellknown.AnnotationNextTrustedAt) // and is noted again by live facts
	}
}

// noteOrder notes what is followed, and that nothing else is.
func (m editor) noteOrder(s *corev1.Secret) {
	if m.Order != "" {
		s.Annotations[wellknown.AnnotationLastRotationRequest] = m.Order
	}
	delete(s.Annotations, wellknown.AnnotationLastRotateAt)
	if m.Due != "" {
		s.Annotations[wellknown.AnnotationLastRotateAt] = m.Due
	}
}

// retire ends the trust in everything but the current generation.
func (m editor) retire(s *corev1.Secret) {
	delete(s.Data, wellknown.KeyPreviousCAs)
	delete(s.Annotations, wellknown.AnnotationPromotedAt)
	delete(s.Annotations, wellknown.AnnotationPreviousExpiresAt)
	delete(s.Annotations, wellknown.AnnotationUnusableCA)
}

// hide takes away what pods must not be given, and notes the CAs of what they may serve
// instead: those that were noted, and those that are registered, which is why this needs
// live facts. The API server wants the keys of a pair to exist, so they stay, empty.
func (m editor) hide(s *corev1.Secret) {
	m.noteUnusableCA(s)
	s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = []byte{}, []byte{}
	delete(s.Data, wellknown.KeyCA)
	delete(s.Data, wellknown.KeyOLMCA)
	delete(s.Annotations, wellknown.AnnotationFingerprint)
	served := trustworthy(newestFirst(append(m.registered(), m.previous...)), m.now)
	s.Data[wellknown.KeyPreviousCAs] = encode(served...)
	note(s, wellknown.AnnotationPreviousExpiresAt, m.latest(served))
}

// forsake ends the trust in all CAs but the current one, which another issuer is asked to
// replace. Pods that do not serve under it yet are proved as before.
func (m editor) forsake(s *corev1.Secret) {
	delete(s.Data, wellknown.KeyPreviousCAs)
	delete(s.Annotations, wellknown.AnnotationPreviousExpiresAt)
}

// complete adds it. Pods mount ca.crt: one that mounts a missing key does not start, and
// one that runs is not brought anything new.
func (m editor) complete(s *corev1.Secret) {
	if m.unnoted {
		m.noteAnew(s)
	}
	s.Data[wellknown.KeyCA] = m.current.CA
	if !m.mints() && m.unusableCA != "" { // no other certificate can be requested for its sake
		s.Data[wellknown.KeyCA], s.Data[wellknown.KeyOLMCA] = encode(m.current.ca()), encode(m.current.ca())
	}
	s.Annotations[wellknown.AnnotationFingerprint] = m.current.leaf()
	if m.misattributed() {
		s.Annotations[wellknown.AnnotationCertificateProvider] = string(m.Issuer)
	}
}

// noteAnew is for a Secret that does not say what its certificate is. Orders were followed, as far
// as anybody knows. What pods serve is not known either: whatever registrations trust stays
// trusted until pods are seen to serve the current certificate, which is why this needs live facts.
func (m editor) noteAnew(s *corev1.Secret) {
	others := slices.DeleteFunc(append(m.registered(), m.previous...), m.current.ca().Equal)
	byOLM := len(s.Data[wellknown.KeyCA]) == 0 // it restarts pods with each rotation
	if !m.noted {
		m.noteOrder(s)
	}
	if byOLM && len(others) == 0 {
		return
	}
	if !m.noted {
		s.Annotations[wellknown.AnnotationGeneration] = strconv.FormatInt(m.following(), 10)
	}
	if !m.Running && len(others) == 0 {
		return
	}
	ends := m.latest(others)
	if last := m.servedUntil(); last.After(ends) {
		ends = last
	}
	m.awaitProof(s, others, ends)
}

// noteUnusableCA has pods be restarted for the generation that is stored because of an unusable
// CA. A rotation that begins for another reason restarts nothing.
func (m editor) noteUnusableCA(s *corev1.Secret) {
	switch {
	case m.unusableCA != "":
		s.Annotations[wellknown.AnnotationUnusableCA] = m.unusableCA
	case m.current != nil:
		delete(s.Annotations, wellknown.AnnotationUnusableCA)
	}
}

// storeNext puts a generation beside the current one.
func (m editor) storeNext(s *corev1.Secret, next *held) {
	s.Data[wellknown.KeyNextCertificate] = next.Certificate
	s.Data[wellknown.KeyNextKey] = next.Key
	s.Data[wellknown.KeyNextCA] = encode(next.ca())
	s.Annotations[wellknown.AnnotationNextGeneration] = strconv.FormatInt(m.numbered(next), 10)
	s.Annotations[wellknown.AnnotationNextProvider] = string(m.Issuer)
	note(s, wellknown.AnnotationNextStoredAt, m.now)
	m.noteOrder(s)
	m.noteUnusableCA(s)
	delete(s.Annotations, wellknown.AnnotationNextTrustedAt)
}

// storeCurrent gives a generation to pods, and forgets all others.
func (m editor) storeCurrent(s *corev1.Secret, g *held, issuer managerv1alpha1.CertificateProvider) {
	ca := encode(g.ca())
	s.Data[corev1.TLSCertKey] = g.Certificate
	s.Data[corev1.TLSPrivateKeyKey] = g.Key
	s.Data[wellknown.KeyCA] = ca
	s.Data[wellknown.KeyOLMCA] = ca
	s.Annotations[wellknown.AnnotationCAHash] = hexSHA256(ca)
	s.Annotations[wellknown.AnnotationFingerprint] = g.leaf()
	s.Annotations[wellknown.AnnotationGeneration] = strconv.FormatInt(m.numbered(g), 10)
	s.Annotations[wellknown.AnnotationCertificateProvider] = string(issuer)
	s.Annotations[wellknown.AnnotationUpdatedAt] = m.now.UTC().Format(time.RFC3339)
	m.noteOrder(s)
	m.forgetNext(s)
	m.retire(s)
}

func (m editor) forgetNext(s *corev1.Secret) {
	for _, key := range []string{wellknown.KeyNextCertificate, wellknown.KeyNextKey, wellknown.KeyNextCA} {
		delete(s.Data, key)
	}
	for _, a := range []string{wellknown.AnnotationNextGeneration, wellknown.AnnotationNextProvider, wellknown.AnnotationNextStoredAt, wellknown.AnnotationNextTrustedAt} {
		delete(s.Annotations, a)
	}
}

func note(s *corev1.Secret, annotation string, at time.Time) {
	s.Annotations[annotation] = at.UTC().Format(time.RFC3339Nano)
}
