package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// due tells whether a generation has to follow the current one, whether or not its
// turn has come.
func (m *machine) due() bool {
	if !m.mints() {
		return m.fresh() != nil
	}
	return m.issuer != m.Issuer || m.ordered() || m.unusableCA != "" || m.urgent() || !m.now.Before(m.policy.renewAt(m.current.chain))
}

// crowded tells whether trust has no room for another generation before pods let go of
// earlier ones. One that cannot wait goes before what is neither new nor old (see bounded).
func (m *machine) crowded() bool {
	return len(trustworthy(m.previous, m.now)) >= maxAuthorities-2 && !m.urgent()
}

// urgent tells whether the current generation cannot wait for its turn: it is of no
// use already, or nine tenths of the time to replace it are over.
func (m *machine) urgent() bool {
	return m.current.unfit(m.Names, m.now) != "" || !m.now.Before(m.urgentAt())
}

// urgentAt is when nine tenths of the time to replace the current generation are over.
func (m *machine) urgentAt() time.Time {
	return end(m.current.chain).Add(-m.policy.renewBefore(m.current.chain) / 10)
}

// begin stores the generation that is to follow an intact one. A stale cache does no
// harm: the write fails, or adds a trust that was not needed.
func (m *machine) begin() {
	if !m.ordered() && m.unusableCA == "" && !m.urgent() && m.issuer == m.Issuer && !m.hasTurn() {
		return
	}
	if next := m.issue(); next != nil {
		m.write(func(s *corev1.Secret) { m.storeNext(s, next) })
	}
}

// hasTurn spreads the load of certificates that are due at one moment.
func (m *machine) hasTurn() bool {
	if m.Rotating == nil {
		m.d.Need = NeedRotating
		return false
	}
	if *m.Rotating < m.policy.Parallel {
		return true
	}
	m.d.Message = fmt.Sprintf("the certificate is due and waits for its turn: %d others are being replaced", *m.Rotating)
	m.d.Again = m.now.Add(10*time.Second + jitter(m.current.chain)%(20*time.Second))
	return false
}
