package certs

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// decider takes one decision.
type decider struct {
	rotation
	usurper *corev1.Secret // what has the place of the Secret, and can only be deleted
	d       Decision

	restart time.Time // of pods that do not reload; zero for never
}

// Decide says what the facts amount to.
//
// The trust is that of the Secret. What is registered is believed only while the
// Secret cannot tell which CA the pods serve: a caBundle edited by hand beside an
// intact Secret is not adopted, and so gets reverted.
func Decide(f Facts, p Policy, now time.Time) Decision {
	if f.Issuer == "" {
		f.Issuer = managerv1alpha1.ProviderManager
	}
	m := &decider{rotation: rotation{Facts: f, issued: issuedBy(f, now), policy: p, now: now}}
	if problem := cmp.Or(f.Occupied, f.foreign()); problem != "" {
		return m.keepHandsOff(problem)
	}
	if usurped(f.Secret) {
		m.usurper, m.Secret = f.Secret, nil
	}
	m.state = read(m.Facts, now)
	m.step()
	return m.conclude()
}

// step takes at most one step: one write, or one question.
func (m *decider) step() {
	if !m.restore() {
		m.advance()
	}
}

// restore takes the step that makes the Secret the manager's and complete again. It reports
// whether there is one.
func (m *decider) restore() bool {
	switch {
	case m.usurper != nil:
		m.remove()
	case m.compromised() && !m.awaitsIssuer():
		m.replace()
	case m.frozen():
		m.write(m.edit().thaw)
	case m.incomplete():
		if !m.unnoted || m.live() {
			m.write(m.edit().complete)
		}
	case m.misdated():
		m.write(m.edit().redate)
	default:
		return false
	}
	return true
}

// advance takes the next step of a rotation.
func (m *decider) advance() {
	switch {
	case m.next != nil && !m.reissued():
		m.distribute()
	case m.current == nil:
		m.recover()
	case m.due() && !m.crowded():
		m.begin()
	case m.next != nil:
		m.write(m.edit().forgetNext) // nobody wants it any more, and no pod could serve it
	case !m.promoted.IsZero():
		m.prove()
	case len(m.previous) > 0:
		m.write(func(s *corev1.Secret) { m.edit().awaitProof(s, m.previous, m.latest(m.previous)) })
	}
}

// foreignPause is how often somebody else's Secret is looked at: it is not watched.
const foreignPause = 30 * time.Second

// keepHandsOff is the decision about somebody else's Secret: nothing is issued, and
// what is registered keeps the trust that it has.
func (m *decider) keepHandsOff(problem string) Decision {
	trusted := trustworthy(newestFirst(m.registered()), m.now)
	return Decision{
		Phase:      managerv1alpha1.CertificateBootstrap,
		Trust:      encode(trusted...),
		Trusted:    len(trusted),
		Generation: latestNumber(trusted),
		Problem:    problem,
		Next:       earliest(m.now, m.turns(trusted)...),
		Again:      m.now.Add(foreignPause),
	}
}
