package certs

import (
	"crypto/x509"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// distribute promotes next once every registration trusts it beside the current one, and says so.
func (m *machine) distribute() {
	if m.uncounted() {
		if m.live() {
			m.write(m.recount)
		}
		return
	}
	if m.current == nil && !m.hidden {
		if m.live() {
			m.write(m.hide)
		}
		return
	}
	counted := m.counted()
	if waits := counted.distrusting(m.next.ca()); waits != "" {
		m.d.Message = m.awaiting(waits, "does not trust the next certificate yet")
		return
	}
	if waits := counted.unfenced(m.next.Number); waits != "" {
		m.d.Message = m.awaiting(waits, fmt.Sprintf("does not say yet that it trusts certificate generation %d", m.next.Number))
		return
	}
	if waits := m.disowning(); waits != "" {
		until := m.begun.Add(turnLength)
		m.d.Message, m.d.Again = fmt.Sprintf("%s does not trust the certificate that pods serve: until %s it is waited for, and after that for pods to serve the next one, which it trusts", waits, instant(until)), until
		return
	}
	if m.settling() && !m.mayPromote() {
		m.d.Message = "API servers are given time to learn of the next certificate, until " + instant(m.trusted.Add(m.policy.Settle))
		return
	}
	switch {
	case !m.live():
	case m.mayPromote():
		m.write(m.promote)
	default:
		m.write(func(s *corev1.Secret) {
			s.Annotations[wellknown.AnnotationNextTrustedAt] = m.now.UTC().Format(time.RFC3339Nano) + " " + counted.fingerprint()
		})
	}
}

// disowning is the first registration that does not trust the current CA, and may soon: somebody
// edited it, and it is being written again. Empty when there is none, and where nothing is gained
// by waiting: calls for its sake fail until it is written, or until pods serve the next generation.
func (m *machine) disowning() string {
	if m.current == nil || m.urgent() || m.now.Sub(m.begun) >= turnLength {
		return ""
	}
	return m.counted().distrusting(m.current.ca())
}

// uncounted tells whether next has lost its number, with the other notes, and nothing else
// gives one that registrations would be written for: they are not written again for an earlier one.
// It is counted again, too, where it is not noted since when it waits.
func (m *machine) uncounted() bool {
	return m.begun.IsZero() || m.next.Number == 0 && certgeneration.Later(m.registeredNumber(), m.number) || certgeneration.Later(m.writtenNumber(), m.number)
}

// recount gives next a number that registrations are written for.
func (m *machine) recount(s *corev1.Secret) {
	m.storeNext(s, m.next)
	if m.current == nil {
		m.hide(s)
	}
}

// settling tells whether the Secret says since when the registrations, as they are, trust next.
func (m *machine) settling() bool {
	return !m.trusted.IsZero() && (m.versions == m.counted().fingerprint() || m.overdue())
}

// mayPromote tells whether API servers trust next: all registrations have for the settle time.
// With none registered nobody has to learn of it, and a current generation that nobody can verify
// is not worth waiting for.
func (m *machine) mayPromote() bool {
	if len(m.Registered) == 0 || m.policy.Settle == 0 {
		return true
	}
	if m.current != nil && !m.now.Before(m.unverifiableAt()) {
		return true
	}
	return m.settling() && !m.now.Before(m.trusted.Add(m.policy.Settle))
}

// unverifiableAt is when the current generation has ended by every clock.
func (m *machine) unverifiableAt() time.Time {
	return end(m.current.chain).Add(m.policy.ClockSkew)
}

// promote gives next to pods, and goes on trusting what they serve until they do.
func (m *machine) promote(s *corev1.Secret) {
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

// servedUntil is the end of what pods may serve before they are given next: the current
// certificate. In place of one that has ended they may serve another of its CA, from before
// somebody put that one back.
func (m *machine) servedUntil() time.Time {
	if last := end(m.current.chain); last.After(m.now) {
		return last
	}
	return m.current.ca().NotAfter
}

// awaitProof has previous trusted until pods are seen to serve the current generation.
func (m *machine) awaitProof(s *corev1.Secret, previous []*x509.Certificate, ends time.Time) {
	if len(previous) > 0 {
		s.Data[wellknown.KeyPreviousCAs] = encode(newestFirst(trustworthy(previous, m.now))...)
	}
	note(s, wellknown.AnnotationPromotedAt, m.now)
	note(s, wellknown.AnnotationPreviousExpiresAt, ends)
}
