package certs

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// recover begins anew where pods are not given anything, or something that the manager
// did not put there. Nothing registered: nobody is called, and the new generation is
// given to pods at once. Else it takes the way of any other, and what is wrong is
// hidden from pods meanwhile: a kubelet that finds a key missing leaves the files as
// they are.
func (m *machine) recover() {
	if !m.Untouched() && !m.live() {
		return
	}
	next := m.issue()
	switch {
	case next == nil && m.d.Need == NeedNothing && !m.hidden && len(m.Registered) > 0:
		m.write(m.hide) // the issuer takes its time
	case next == nil:
	case len(m.Registered) == 0:
		m.write(func(s *corev1.Secret) {
			m.storeCurrent(s, next, m.Issuer)
			m.noteUnusableCA(s)
			if m.Running {
				note(s, wellknown.AnnotationPromotedAt, m.now)
			}
		})
	default:
		m.write(func(s *corev1.Secret) {
			m.storeNext(s, next)
			m.hide(s)
		})
	}
}

// hide takes away what pods must not be given, and notes the CAs of what they may serve
// instead: those that were noted, and those that are registered, which is why this needs
// live facts. The API server wants the keys of a pair to exist, so they stay, empty.
func (m *machine) hide(s *corev1.Secret) {
	m.noteUnusableCA(s)
	s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey] = []byte{}, []byte{}
	delete(s.Data, wellknown.KeyCA)
	delete(s.Data, wellknown.KeyOLMCA)
	delete(s.Annotations, wellknown.AnnotationFingerprint)
	served := trustworthy(newestFirst(append(m.registered(), m.previous...)), m.now)
	s.Data[wellknown.KeyPreviousCAs] = encode(served...)
	note(s, wellknown.AnnotationPreviousExpiresAt, m.latest(served))
}

// latest is when the last of some CAs ends; now when there is none.
func (m *machine) latest(authorities []*x509.Certificate) time.Time {
	last := m.now
	for _, ca := range authorities {
		if ca.NotAfter.After(last) {
			last = ca.NotAfter
		}
	}
	return last
}

// replace is a rotation that does not wait: a new generation is the only one that is
// trusted, and calls to pods that do not serve it yet fail. Who has read the Secret has the
// key of the next generation, too, so that one is never given to pods.
func (m *machine) replace() {
	if !m.live() {
		return
	}
	issued := m.issue()
	switch {
	case issued != nil:
		m.write(func(s *corev1.Secret) {
			m.storeCurrent(s, issued, m.Issuer)
			note(s, wellknown.AnnotationPromotedAt, m.now)
		})
	case m.mints() || m.current == nil:
	case m.issued.sameAs(m.next):
		// The Secret keeps next until the issuer has discarded it: else it would be taken in again.
		m.d.Message = fmt.Sprintf("the key that %s issued last is compromised as well, and a new one is requested", m.Issuer)
		if len(m.previous) > 0 {
			m.write(m.forsake)
		}
	default:
		m.write(func(s *corev1.Secret) {
			m.forgetNext(s)
			m.forsake(s)
		})
	}
}

// forsake ends the trust in all CAs but the current one, which another issuer is asked to
// replace. Pods that do not serve under it yet are proved as before.
func (m *machine) forsake(s *corev1.Secret) {
	delete(s.Data, wellknown.KeyPreviousCAs)
	delete(s.Annotations, wellknown.AnnotationPreviousExpiresAt)
}

// incomplete tells whether current lacks what the manager would have written with it:
// OLM v0 wrote it, an earlier version of this manager, or somebody took a key or the label
// away.
func (m *machine) incomplete() bool {
	return m.current != nil && (len(m.Secret.Data[wellknown.KeyCA]) == 0 || m.Secret.Annotations[wellknown.AnnotationFingerprint] == "" || strange(m.Secret) != "" || m.misattributed() || !m.mints() && m.unusableCA != "")
}

// complete adds it. Pods mount ca.crt: one that mounts a missing key does not start, and
// one that runs is not brought anything new.
func (m *machine) complete(s *corev1.Secret) {
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
func (m *machine) noteAnew(s *corev1.Secret) {
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
