package certs

import (
	"crypto/x509"
	"time"
)

// rotation is what is known when a decision is taken. Its methods do not change it.
type rotation struct {
	Facts
	state
	lastIssued *keyPair // what the issuer issued last; nil if it is not usable
	policy     Policy
	now        time.Time
}

// unverifiableAt returns when the current generation has expired by every clock.
func (m *rotation) unverifiableAt() time.Time {
	return expiry(m.current.chain).Add(m.policy.ClockSkew)
}

// If the current certificate has expired, a client restored it, and pods may serve another one of its CA.
func (m *rotation) servedUntil() time.Time {
	if last := expiry(m.current.chain); last.After(m.now) {
		return last
	}
	return m.current.ca().NotAfter
}

// This clock was set back, or another manager's is ahead: a wait from such a time would take too long.
func (m *rotation) timesInFuture() bool {
	return m.nextStoredAt.After(m.now) || m.nextTrustedAt.After(m.now) || m.promotedAt.After(m.now)
}

// previousExpired is about all certificates that pods may serve instead of the current one.
func (m *rotation) previousExpired() bool {
	return !m.previousExpiresAt.IsZero() && !m.now.Before(m.previousExpiresAt)
}

// sharesCA reports whether pods may serve another certificate of the current CA, and of no other CA.
func (m *rotation) sharesCA() bool { return len(m.previous) == 0 && !m.previousExpiresAt.IsZero() }

// lastExpiry returns when the last of the CAs expires; now if there is none.
func (m *rotation) lastExpiry(authorities []*x509.Certificate) time.Time {
	last := m.now
	for _, ca := range authorities {
		last = latest(last, ca.NotAfter)
	}
	return last
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (m *rotation) recent() bool {
	return m.now.Before(m.promotedAt.Add(max(searchDuration, 2*m.policy.Grace)))
}
