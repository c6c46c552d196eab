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
	if m.d.Message = m.missingTrust(); m.d.Message != "" {
		return
	}
	if waits := m.awaitingRepair(); waits != "" {
		until := m.nextStoredAt.Add(slotDuration)
		m.d.Message, m.d.PollAt = fmt.Sprintf("%s does not trust the certificate that pods serve: until %s it is waited for, and after that for pods to serve the next one, which it trusts", waits, instant(until)), until
		return
	}
	switch {
	case m.nothingWaits() && m.requireLive(), m.settling() && m.propagated():
		m.planWrite(editor.promote)
	case m.nothingWaits() || m.settling() || !m.requireLive():
	default:
		m.planWrite(func(e editor) {
			e.secret.Annotations[wellknown.AnnotationNextTrustedAt] = m.now.UTC().Format(time.RFC3339Nano) + " " + m.awaited().fingerprint()
		})
	}
}

// missingTrust returns a message about a registration that does not trust the next generation; empty for none.
func (m *decider) missingTrust() string {
	counted := m.awaited()
	if waits := counted.firstWithoutTrust(m.next.ca()); waits != "" {
		return m.waitMessage(waits, "does not trust the next certificate yet")
	}
	if waits := counted.writtenForEarlier(m.next.Number); waits != "" {
		return m.waitMessage(waits, fmt.Sprintf("does not report yet that it trusts certificate generation %d", m.next.Number))
	}
	return ""
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

// nothingWaits reports whether no API server has to use the next generation: without registrations, or with an expired
// current generation.
func (m *decider) nothingWaits() bool {
	return len(m.Registrations) == 0 || m.policy.Settle == 0 || m.current != nil && !m.now.Before(m.unverifiableAt())
}
