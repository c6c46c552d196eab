package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// distribution is the part of a rotation in which registrations learn to trust the next generation.
type distribution struct{ *rotation }

func (m *decider) distribution() distribution { return distribution{&m.rotation} }

// distribute promotes next once every registration trusts it beside the current one, and says so.
func (m *decider) distribute() {
	if m.uncounted() {
		if m.live() {
			m.write(m.edit().recount)
		}
		return
	}
	if m.current == nil && !m.hidden {
		if m.live() {
			m.write(m.edit().hide)
		}
		return
	}
	counted := m.distribution().counted()
	if waits := counted.distrusting(m.next.ca()); waits != "" {
		m.d.Message = m.distribution().awaiting(waits, "does not trust the next certificate yet")
		return
	}
	if waits := counted.unfenced(m.next.Number); waits != "" {
		m.d.Message = m.distribution().awaiting(waits, fmt.Sprintf("does not say yet that it trusts certificate generation %d", m.next.Number))
		return
	}
	if waits := m.distribution().disowning(); waits != "" {
		until := m.begun.Add(turnLength)
		m.d.Message, m.d.Again = fmt.Sprintf("%s does not trust the certificate that pods serve: until %s it is waited for, and after that for pods to serve the next one, which it trusts", waits, instant(until)), until
		return
	}
	if m.distribution().settling() && !m.distribution().mayPromote() {
		m.d.Message = "API servers are given time to learn of the next certificate, until " + instant(m.trusted.Add(m.policy.Settle))
		return
	}
	switch {
	case !m.live():
	case m.distribution().mayPromote():
		m.write(m.edit().promote)
	default:
		m.write(func(s *corev1.Secret) {
			s.Annotations[wellknown.AnnotationNextTrustedAt] = m.now.UTC().Format(time.RFC3339Nano) + " " + counted.fingerprint()
		})
	}
}

// disowning is the first registration that does not trust the current CA, and may soon: somebody
// edited it, and it is being written again. Empty when there is none, and where nothing is gained
// by waiting: calls for its sake fail until it is written, or until pods serve the next generation.
func (m distribution) disowning() string {
	if m.current == nil || m.urgent() || m.now.Sub(m.begun) >= turnLength {
		return ""
	}
	return m.counted().distrusting(m.current.ca())
}

// uncounted tells whether next has lost its number, with the other notes, and nothing else
// gives one that registrations would be written for: they are not written again for an earlier one.
// It is counted again, too, where it is not noted since when it waits.
func (m *rotation) uncounted() bool {
	return m.begun.IsZero() || m.next.Number == 0 && certgeneration.Later(m.registeredNumber(), m.number) || certgeneration.Later(m.writtenNumber(), m.number)
}

// settling tells whether the Secret says since when the registrations, as they are, trust next.
func (m distribution) settling() bool {
	return !m.trusted.IsZero() && (m.versions == m.counted().fingerprint() || m.overdue())
}

// mayPromote tells whether API servers trust next: all registrations have for the settle time.
// With none registered nobody has to learn of it, and a current generation that nobody can verify
// is not worth waiting for.
func (m distribution) mayPromote() bool {
	if len(m.Registered) == 0 || m.policy.Settle == 0 {
		return true
	}
	if m.current != nil && !m.now.Before(m.unverifiableAt()) {
		return true
	}
	return m.settling() && !m.now.Before(m.trusted.Add(m.policy.Settle))
}
