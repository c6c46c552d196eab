package certs

import (
	"crypto/x509"
	"time"
)

// rotation is what is known when a decision is taken: the facts, the state that the Secret stores,
// and the policy. Its methods do not change it.
type rotation struct {
	Facts
	state
	issued *held // what the issuer issued last; nil if it is not usable
	policy Policy
	now    time.Time
}

// unverifiableAt is when the current generation has ended by every clock.
func (m *rotation) unverifiableAt() time.Time {
	return end(m.current.chain).Add(m.policy.ClockSkew)
}

// servedUntil is the end of what pods may serve before they are given next: the current
// certificate. In place of one that has ended they may serve another of its CA, from before
// somebody put that one back.
func (m *rotation) servedUntil() time.Time {
	if last := end(m.current.chain); last.After(m.now) {
		return last
	}
	return m.current.ca().NotAfter
}

// misdated tells whether a step was taken at an instant that is yet to come: this clock
// was set back since, or another manager's is ahead. What is counted from such an instant
// would take as much longer.
func (m *rotation) misdated() bool {
	return m.begun.After(m.now) || m.trusted.After(m.now) || m.promoted.After(m.now)
}

// previousEnded tells whether what pods may serve in place of the current generation has ended.
func (m *rotation) previousEnded() bool {
	return !m.previousEnds.IsZero() && !m.now.Before(m.previousEnds)
}

// sharesCA tells whether pods may serve another certificate of the current CA, and of no other.
func (m *rotation) sharesCA() bool { return len(m.previous) == 0 && !m.previousEnds.IsZero() }

// latest is when the last of some CAs ends; now when there is none.
func (m *rotation) latest(authorities []*x509.Certificate) time.Time {
	last := m.now
	for _, ca := range authorities {
		if ca.NotAfter.After(last) {
			last = ca.NotAfter
		}
	}
	return last
}

// recent tells whether pods were given the current generation so recently.
func (m *rotation) recent() bool {
	return m.now.Before(m.promoted.Add(max(searchTime, 2*m.policy.Grace)))
}
