package certs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// recover begins anew where pods are not given anything, or something that the manager
// did not put there. Nothing registered: nobody is called, and the new generation is
// given to pods at once. Else it takes the way of any other, and what is wrong is
// hidden from pods meanwhile: a kubelet that finds a key missing leaves the files as
// they are.
func (m *decider) recover() {
	if !m.Untouched() && !m.live() {
		return
	}
	next := m.issue()
	switch {
	case next == nil && m.d.Need == NeedNothing && !m.hidden && len(m.Registered) > 0:
		m.write(m.edit().hide) // the issuer takes its time
	case next == nil:
	case len(m.Registered) == 0:
		m.write(func(s *corev1.Secret) {
			m.edit().storeCurrent(s, next, m.Issuer)
			m.edit().noteUnusableCA(s)
			if m.Running {
				note(s, wellknown.AnnotationPromotedAt, m.now)
			}
		})
	default:
		m.write(func(s *corev1.Secret) {
			m.edit().storeNext(s, next)
			m.edit().hide(s)
		})
	}
}

// replace is a rotation that does not wait: a new generation is the only one that is
// trusted, and calls to pods that do not serve it yet fail. Who has read the Secret has the
// key of the next generation, too, so that one is never given to pods.
func (m *decider) replace() {
	if !m.live() {
		return
	}
	issued := m.issue()
	switch {
	case issued != nil:
		m.write(func(s *corev1.Secret) {
			m.edit().storeCurrent(s, issued, m.Issuer)
			note(s, wellknown.AnnotationPromotedAt, m.now)
		})
	case m.mints() || m.current == nil:
	case m.issued.sameAs(m.next):
		// The Secret keeps next until the issuer has discarded it: else it would be taken in again.
		m.d.Message = fmt.Sprintf("the key that %s issued last is compromised as well, and a new one is requested", m.Issuer)
		if len(m.previous) > 0 {
			m.write(m.edit().forsake)
		}
	default:
		m.write(func(s *corev1.Secret) {
			m.edit().forgetNext(s)
			m.edit().forsake(s)
		})
	}
}

// incomplete tells whether current lacks what the manager would have written with it:
// OLM v0 wrote it, an earlier version of this manager, or somebody took a key or the label
// away.
func (m *rotation) incomplete() bool {
	return m.current != nil && (len(m.Secret.Data[wellknown.KeyCA]) == 0 || m.Secret.Annotations[wellknown.AnnotationFingerprint] == "" || strange(m.Secret) != "" || m.misattributed() || !m.mints() && m.unusableCA != "")
}
