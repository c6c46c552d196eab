package certs

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

type decider struct {
	rotation
	blocking *corev1.Secret // has the name of the Secret, and can only be deleted
	d        Decision

	restartAt time.Time // when pods that do not reload are restarted; zero for never
}

// Decide returns the decision for the facts. The Secret determines the trust. Registrations count only if the Secret has
// no usable pair, belongs to another client, or may not show which CAs the pods serve (mayLackServedCAs). Otherwise an
// edited caBundle is reverted.
func Decide(f Facts, p Policy, now time.Time) Decision {
	if f.Provider == "" {
		f.Provider = managerv1alpha1.ProviderManager
	}
	m := &decider{rotation: rotation{Facts: f, lastIssued: issuedKeyPair(f, now), policy: p, now: now}}
	if problem := cmp.Or(f.OtherWriter, f.otherOwner()); problem != "" {
		return m.ignoreSecret(problem)
	}
	if mustDelete(f.Secret) {
		m.blocking, m.Secret = f.Secret, nil
	}
	m.state = readSecret(m.Facts, now)
	if !m.repair() {
		m.advance()
	}
	return m.conclude()
}

// repair takes the steps that precede a phase. It reports whether one was necessary.
func (m *decider) repair() bool {
	switch {
	case m.blocking != nil:
		m.deleteBlocking()
	case m.compromised() && !m.awaitsIssuer():
		m.replaceCompromised()
	case m.needsRecreation():
		m.planWrite(editor.recordRecreation)
	case m.incomplete():
		if !m.unidentified || m.requireLive() {
			m.planWrite(editor.complete)
		}
	case m.timesInFuture():
		m.planWrite(editor.resetTimes)
	default:
		return false
	}
	return true
}

func (m *decider) advance() {
	switch {
	case m.next != nil && !m.nextReplaced():
		m.distribute()
	case m.current == nil:
		m.recoverSecret()
	case m.renewalDue() && !m.tooManyPrevious():
		m.startRotation()
	case m.next != nil:
		m.planWrite(editor.forgetNext) // no pod could serve it
	case !m.promotedAt.IsZero():
		m.untrustPrevious()
	case len(m.previous) > 0:
		m.planWrite(func(e editor) { e.keepPrevious(m.previous, m.lastExpiry(m.previous)) })
	}
}

// otherClientInterval is how often the Secret of another client is read. It is not watched.
const otherClientInterval = 30 * time.Second

// ignoreSecret issues nothing, and registrations keep their trust.
func (m *decider) ignoreSecret(problem string) Decision {
	trusted := trustworthy(newestFirst(m.registeredCAs()), m.now)
	return Decision{
		Phase:      managerv1alpha1.CertificateBootstrap,
		Trust:      encode(trusted...),
		TrustedCAs: len(trusted),
		Generation: latestNumber(trusted),
		Problem:    problem,
		ChangesAt:  earliest(m.now, m.changeTimes(trusted)...),
		PollAt:     m.now.Add(otherClientInterval),
	}
}

// requireLive reports whether the facts are live, and requests them otherwise.
func (m *decider) requireLive() bool {
	if !m.Live {
		m.d.Need = NeedLive
	}
	return m.Live
}

// requireIssued requests a missing generation from the manager. Another issuer issues it later.
func (m *decider) requireIssued() *keyPair {
	issued := m.newlyIssued()
	if issued == nil && m.managerIssues() {
		m.d.Need, m.d.Mint = NeedIssued, m.policy.request(m.nextNumber(), m.Names, m.now)
	}
	return issued
}

func (m *decider) planWrite(change func(editor)) {
	secret := &corev1.Secret{ObjectMeta: *m.SecretMeta.DeepCopy()}
	if m.Secret != nil {
		secret = m.Secret.DeepCopy()
	}
	secret.Type = corev1.SecretTypeTLS
	secret.Labels = with(secret.Labels, map[string]string{wellknown.LabelManaged: "true"})
	secret.Annotations = with(secret.Annotations, map[string]string{})
	secret.Data = with(secret.Data, map[string][]byte{})
	change(editor{&m.rotation, secret})
	m.d.Write = secret
}
