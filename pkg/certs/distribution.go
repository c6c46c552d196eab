package certs

import (
	"fmt"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// distribute promotes the next generation after every registration trusts it, too.
func (m *decider) distribute() {
	if m.needsNumber() {
		if m.requireLive() {
			m.planWrite(editor.renumber)
		}
		return
	}
	if m.current == nil && !m.emptied {
		if m.requireLive() {
			m.planWrite(editor.emptyPair)
		}
		return
	}
	counted := m.awaited()
	if waits := counted.firstWithoutTrust(m.next.ca()); waits != "" {
		m.d.Message = m.waitMessage(waits, "does not trust the next certificate yet")
		return
	}
	if waits := counted.writtenForEarlier(m.next.Number); waits != "" {
		m.d.Message = m.waitMessage(waits, fmt.Sprintf("does not report yet that it trusts certificate generation %d", m.next.Number))
		return
	}
	if waits := m.awaitingRepair(); waits != "" {
		until := m.nextStoredAt.Add(slotDuration)
		m.d.Message, m.d.PollAt = fmt.Sprintf("%s does not trust the certificate that pods serve: until %s it is waited for, and after that for pods to serve the next one, which it trusts", waits, instant(until)), until
		return
	}
	if m.settling() && !m.canPromote() {
		m.d.Message = "API servers are given time to learn of the next certificate, until " + instant(m.nextTrustedAt.Add(m.policy.Settle))
		return
	}
	switch {
	case !m.requireLive():
	case m.canPromote():
		m.planWrite(editor.promote)
	default:
		m.planWrite(func(e editor) {
			e.secret.Annotations[wellknown.AnnotationNextTrustedAt] = m.now.UTC().Format(time.RFC3339Nano) + " " + counted.fingerprint()
		})
	}
}

// awaitingRepair returns an edited registration whose calls fail until it trusts the current CA; empty for none.
func (m *decider) awaitingRepair() string {
	if m.current == nil || m.urgent() || m.now.Sub(m.nextStoredAt) >= slotDuration {
		return ""
	}
	return m.awaited().firstWithoutTrust(m.current.ca())
}

// needsNumber reports whether the annotations of the next generation were lost.
func (m *rotation) needsNumber() bool {
	return m.nextStoredAt.IsZero() || m.next.Number == 0 && certgeneration.Later(m.registeredNumber(), m.number) || certgeneration.Later(m.writtenNumber(), m.number)
}

// settling reports whether the Secret records since when the present registrations trust the next generation.
func (m *decider) settling() bool {
	return !m.nextTrustedAt.IsZero() && (m.trustedBy == m.awaited().fingerprint() || m.overdue())
}

// canPromote requires that all registrations have trusted the next generation for the settle time. Without
// registrations, or with an expired current generation, there is nothing to wait for.
func (m *decider) canPromote() bool {
	if len(m.Registrations) == 0 || m.policy.Settle == 0 {
		return true
	}
	if m.current != nil && !m.now.Before(m.unverifiableAt()) {
		return true
	}
	return m.settling() && !m.now.Before(m.nextTrustedAt.Add(m.policy.Settle))
}
