package certs

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// renewalDue includes a wait for a slot.
func (m *rotation) renewalDue() bool {
	if !m.managerIssues() {
		return m.newlyIssued() != nil
	}
	return m.currentProvider != m.Provider || m.rotationRequested() || m.unusableCA != "" || m.urgent() || !m.now.Before(m.policy.renewAt(m.current.chain))
}

// mostPrevious is how many previous CAs may be trusted when a renewal starts.
const mostPrevious = 6

// tooManyPrevious reports whether pods did not serve the previous generations. An urgent renewal does not wait.
func (m *rotation) tooManyPrevious() bool {
	return len(trustworthy(m.previous, m.now)) >= mostPrevious && !m.urgent()
}

// urgent renewals wait for no slot: the current generation is unusable, or nine tenths of the time are over.
func (m *rotation) urgent() bool {
	return m.current.invalid(m.Names, m.now) != "" || !m.now.Before(m.urgentAt())
}

func (m *rotation) urgentAt() time.Time {
	return expiry(m.current.chain).Add(-m.policy.renewBefore(m.current.chain) / 10)
}

// startRotation accepts a stale cache: the write fails, or adds a CA that was not necessary.
func (m *decider) startRotation() {
	if !m.rotationRequested() && m.unusableCA == "" && !m.urgent() && m.currentProvider == m.Provider && !m.mayStart() {
		return
	}
	if next := m.requireIssued(); next != nil {
		m.planWrite(func(e editor) { e.storeNext(next) })
	}
}

// mayStart limits how many certificates are replaced at the same time.
func (m *decider) mayStart() bool {
	if m.Rotating == nil {
		m.d.Need = NeedRotating
		return false
	}
	if *m.Rotating < m.policy.Parallel {
		return true
	}
	m.d.Message = fmt.Sprintf("the certificate is due for renewal and waits for a free rotation slot: %d others are being replaced", *m.Rotating)
	m.d.PollAt = m.now.Add(10*time.Second + jitter(m.current.chain)%(20*time.Second))
	return false
}

// A rotation whose pods do not become ready must not block all others.
const slotDuration = 2 * time.Minute

// HasRotationSlot reports whether a Secret's certificate counts for Facts.Rotating.
func HasRotationSlot(secret *corev1.Secret, now time.Time) bool {
	return slices.ContainsFunc([]string{wellknown.AnnotationNextStoredAt, wellknown.AnnotationPromotedAt}, func(step string) bool {
		at := instantIn(secret, step)
		return !at.IsZero() && !at.After(now) && now.Sub(at) < slotDuration
	})
}

// RotationUnfinished is true for all Secrets with a slot, and for rotations of any age.
func RotationUnfinished(secret *corev1.Secret) bool {
	return secret.Annotations[wellknown.AnnotationNextStoredAt] != "" || secret.Annotations[wellknown.AnnotationPromotedAt] != ""
}
