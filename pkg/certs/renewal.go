package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// due tells whether a generation has to follow the current one, whether or not its
// turn has come.
func (m *rotation) due() bool {
	if !m.mints() {
		return m.fresh() != nil
	}
	return m.issuer != m.Issuer || m.ordered() || m.unusableCA != "" || m.urgent() || !m.now.Before(m.policy.renewAt(m.current.chain))
}

// crowded tells whether trust has no room for another generation before pods let go of
// earlier ones. One that cannot wait goes before what is neither new nor old (see bounded).
func (m *rotation) crowded() bool {
	return len(trustworthy(m.previous, m.now)) >= maxAuthorities-2 && !m.urgent()
}

// urgent tells whether the current generation cannot wait for its turn: it is of no
// use already, or nine tenths of the time to replace it are over.
func (m *rotation) urgent() bool {
	return m.current.unfit(m.Names, m.now) != "" || !m.now.Before(m.urgentAt())
}

// urgentAt is when nine tenths of the time to replace the current generation are over.
func (m *rotation) urgentAt() time.Time {
	return end(m.current.chain).Add(-m.policy.renewBefore(m.current.chain) / 10)
}

// begin stores the generation that is to follow an intact one. A stale cache does no
// harm: the write fails, or adds a trust that was not needed.
func (m *decider) begin() {
	if !m.ordered() && m.unusableCA == "" && !m.urgent() && m.issuer == m.Issuer && !m.hasTurn() {
		return
	}
	if next := m.issue(); next != nil {
		m.write(func(s *corev1.Secret) { m.edit().storeNext(s, next) })
	}
}

// hasTurn spreads the load of certificates that are due at one moment.
func (m *decider) hasTurn() bool {
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

// turnLength is how long a rotation holds up others at most: one whose pods are stuck
// must not keep all certificates of the cluster from being replaced.
const turnLength = 2 * time.Minute

// UnderWay tells whether the certificate in a Secret is being replaced, and counts for
// Facts.Rotating.
func UnderWay(secret *corev1.Secret, now time.Time) bool {
	for _, step := range []string{wellknown.AnnotationNextStoredAt, wellknown.AnnotationPromotedAt} {
		if at := instantIn(secret, step); !at.IsZero() && !at.After(now) && now.Sub(at) < turnLength {
			return true
		}
	}
	return false
}

// Replacing reports whether a Secret says that its certificate is being replaced, however long ago that
// began: UnderWay can be true of no other.
func Replacing(secret *corev1.Secret) bool {
	return secret.Annotations[wellknown.AnnotationNextStoredAt] != "" || secret.Annotations[wellknown.AnnotationPromotedAt] != ""
}
