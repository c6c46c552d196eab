package certs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// recoverSecret replaces a pair that was deleted or cannot be used (docs/developer/deleted-secret.md). Without
// registrations, pods get the new generation at once. Otherwise it is distributed first, and
// the unusable pair is emptied: a kubelet keeps the files as they are when a key is missing.
func (m *decider) recoverSecret() {
	if !m.Unused() && !m.requireLive() {
		return
	}
	next := m.requireIssued()
	switch {
	case next == nil && m.d.Need == NeedNothing && !m.emptied && len(m.Registrations) > 0:
		m.planWrite(editor.emptyPair)
	case next == nil:
	case len(m.Registrations) == 0:
		m.planWrite(func(e editor) {
			e.storeCurrent(next, m.Provider)
			e.recordUnusableCA()
			if m.Running {
				e.recordTime(wellknown.AnnotationPromotedAt, m.now)
			}
		})
	default:
		m.planWrite(func(e editor) {
			e.storeNext(next)
			e.emptyPair()
		})
	}
}

// replaceCompromised does not wait: only the new generation is trusted, and calls to other pods fail. The
// reader of the compromised key could read the prepared next one, so another generation is issued.
func (m *decider) replaceCompromised() {
	if !m.requireLive() {
		return
	}
	issued := m.requireIssued()
	switch {
	case issued != nil:
		m.planWrite(func(e editor) {
			e.storeCurrent(issued, m.Provider)
			e.recordTime(wellknown.AnnotationPromotedAt, m.now)
		})
	case m.managerIssues() || m.current == nil:
	case m.lastIssued.sameAs(m.next):
		// The Secret keeps next until the issuer discards it. Otherwise next would be stored again.
		m.d.Message = fmt.Sprintf("the key that %s issued last is compromised as well, and a new one is requested", m.Provider)
		if len(m.previous) > 0 {
			m.planWrite(editor.endPreviousTrust)
		}
	default:
		m.planWrite(func(e editor) {
			e.forgetNext()
			e.endPreviousTrust()
		})
	}
}

// incomplete reports whether OLM v0 wrote the Secret, or another client removed a key or a label.
func (m *rotation) incomplete() bool {
	return m.current != nil && (len(m.Secret.Data[wellknown.KeyCA]) == 0 || m.Secret.Annotations[wellknown.AnnotationFingerprint] == "" || notManaged(m.Secret) != "" || m.wrongProvider() || !m.managerIssues() && m.unusableCA != "")
}

func immutable(secret *corev1.Secret) bool {
	return secret != nil && secret.Immutable != nil && *secret.Immutable
}

// A kubelet does not read an immutable Secret again while a pod of its node mounts it. Once for each certificate
// is enough, because an admission policy may make every Secret immutable.
func (m *rotation) needsRecreation() bool {
	return immutable(m.Secret) && m.Secret.Annotations[wellknown.AnnotationRecreatedFor] != m.recreatedFor()
}

// recreate needs live facts: if the deletion succeeds and the creation fails, the key is lost.
func (m *decider) recreate() {
	if m.d.Write == nil || !immutable(m.Secret) {
		return
	}
	write := m.d.Write
	m.d.Write = nil
	switch {
	case m.Secret.DeletionTimestamp != nil:
		m.d.Message = fmt.Sprintf("Secret %s/%s is immutable%s", m.Secret.Namespace, m.Secret.Name, keptByFinalizers(m.Secret))
		m.d.PollAt = m.now.Add(otherClientInterval)
	case m.requireLive():
		write.Immutable = nil
		write.ObjectMeta = metav1.ObjectMeta{
			Namespace: write.Namespace, Name: write.Name, Labels: write.Labels, Annotations: write.Annotations, OwnerReferences: write.OwnerReferences,
		}
		m.d.Write, m.d.Remove = write, m.Secret
	}
}
