package certs

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// machine is one decision under way.
type machine struct {
	Facts
	state
	issued  *held          // what the issuer issued last; nil for nothing of use
	usurper *corev1.Secret // what has the place of the Secret, and can only be deleted
	policy  Policy
	now     time.Time
	d       Decision

	restart time.Time // of pods that are not seen to follow; zero for never
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
	m := &machine{Facts: f, issued: issuedBy(f, now), policy: p, now: now}
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
func (m *machine) step() {
	if !m.restore() {
		m.advance()
	}
}

// restore takes the step that makes the Secret the manager's and complete again. It reports
// whether there is one.
func (m *machine) restore() bool {
	switch {
	case m.usurper != nil:
		m.remove()
	case m.compromised() && !m.awaitsIssuer():
		m.replace()
	case m.frozen():
		m.write(m.thaw)
	case m.incomplete():
		if !m.unnoted || m.live() {
			m.write(m.complete)
		}
	case m.misdated():
		m.write(m.redate)
	default:
		return false
	}
	return true
}

// advance takes the next step of a rotation.
func (m *machine) advance() {
	switch {
	case m.next != nil && !m.reissued():
		m.distribute()
	case m.current == nil:
		m.recover()
	case m.due() && !m.crowded():
		m.begin()
	case m.next != nil:
		m.write(m.forgetNext) // nobody wants it any more, and no pod could serve it
	case !m.promoted.IsZero():
		m.prove()
	case len(m.previous) > 0:
		m.write(func(s *corev1.Secret) { m.awaitProof(s, m.previous, m.latest(m.previous)) })
	}
}

// live asks for facts that do not come from caches.
func (m *machine) live() bool {
	if !m.Live {
		m.d.Need = NeedLive
	}
	return m.Live
}

// conclude says what holds once the step is taken.
func (m *machine) conclude() Decision {
	m.recreate()
	if m.ReadOnly {
		m.d.Write, m.d.Remove = nil, nil
	}
	if m.d.Write != nil {
		m.d.Message, m.d.Again = "", time.Time{}
		m.Secret = m.d.Write
		m.state = read(m.Facts, m.now)
	}
	trusted := trustworthy(m.trust(), m.now, m.given()...)
	m.d.Phase = m.phase(trusted)
	m.d.Trust, m.d.Trusted = encode(trusted...), len(trusted)
	m.d.Generation = m.number
	m.d.DuePending = m.dueOrdered()
	m.d.Reissue, m.d.Rejected = m.reissues(), m.rejected()
	turns := m.turns(trusted)
	if m.d.Message == "" {
		m.d.Message = m.early()
	}
	m.reportLost()
	if m.d.Problem = m.unusable(); m.d.Problem == "" && m.current != nil {
		m.d.Serving = m.serving(m.current)
	}
	m.d.Next = earliest(m.now, turns...)
	return m.d
}

// unusable is why the Secret cannot be used; empty when it can. That there is none yet is
// no loss.
func (m *machine) unusable() string {
	remedy := "; a new certificate replaces it"
	if !m.mints() {
		remedy += " as soon as " + string(m.Issuer) + " has issued one"
	}
	switch {
	case m.current == nil && m.Secret == nil && len(m.Registered) == 0:
		return ""
	case m.current == nil:
		return m.problem + remedy
	}
	if why := m.current.unfit(m.Names, m.now); why != "" {
		return fmt.Sprintf("Secret %s/%s: %s%s", m.Secret.Namespace, m.Secret.Name, why, remedy)
	}
	return ""
}

func (m *machine) serving(c *held) *Serving {
	ca := encode(c.ca())
	return &Serving{
		Number: certgeneration.Latest(c.Number, numberOf(c.ca())), Issuer: m.issuer, Leaf: c.leaf(),
		SharesCA: m.sharesCA(), Recent: m.recent(),
		CA: ca, CAHash: hexSHA256(ca), CAFingerprint: hexSHA256(c.ca().Raw),
		NotBefore: c.chain[0].NotBefore, NotAfter: end(c.chain), RenewAt: m.policy.renewAt(c.chain),
		Updated: m.updated,
	}
}

// trust is what registrations have to trust, by the Secret. While the Secret does not show what
// pods may serve, registrations keep what they have.
func (m *machine) trust() []*x509.Certificate {
	all := m.authorities()
	if m.current == nil || m.unproven() {
		all = append(all, m.registered()...)
	}
	return newestFirst(all)
}

// unproven reports whether pods may serve another certificate than the current one, of which
// the Secret does not show the CA: its annotations were lost, or a client other than the manager
// removed the earlier CAs before the pods were seen to serve the current certificate.
func (m *machine) unproven() bool {
	return m.unnoted || !m.promoted.IsZero() && !m.previousEnds.IsZero()
}

// phase names what the Secret holds.
func (m *machine) phase(trusted []*x509.Certificate) managerv1alpha1.CertificatePhase {
	switch {
	case m.current == nil && len(m.Registered) == 0:
		return managerv1alpha1.CertificateBootstrap
	case m.next != nil || m.current == nil:
		return managerv1alpha1.CertificateDistributing
	case !m.promoted.IsZero():
		return managerv1alpha1.CertificatePromoting
	case m.overtrusted(trusted):
		return managerv1alpha1.CertificateRetiring
	default:
		return managerv1alpha1.CertificateStable
	}
}

// overtrusted tells whether a registration that can be written trusts a CA that it need not
// trust any more.
func (m *machine) overtrusted(trusted []*x509.Certificate) bool {
	needed := Registration{CABundle: encode(trusted...)}
	writable := Facts{Registered: slices.DeleteFunc(slices.Clone(m.Registered), func(r Registration) bool { return r.Refused != "" })}
	for _, ca := range writable.registered() {
		if !needed.trusts(ca) {
			return true
		}
	}
	return false
}

// foreignPause is how often somebody else's Secret is looked at: it is not watched.
const foreignPause = 30 * time.Second

// keepHandsOff is the decision about somebody else's Secret: nothing is issued, and
// what is registered keeps the trust that it has.
func (m *machine) keepHandsOff(problem string) Decision {
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

// turns are instants at which the answer changes by itself.
func (m *machine) turns(trusted []*x509.Certificate) []time.Time {
	var all []time.Time
	if c := m.current; c != nil {
		all = append(all, m.policy.renewAt(c.chain), c.chain[0].NotBefore, c.ca().NotBefore, end(c.chain))
		if m.due() {
			all = append(all, m.urgentAt()) // when it waits for its turn no longer
		}
	}
	if m.issued != nil {
		all = append(all, m.issued.chain[0].NotBefore, m.issued.ca().NotBefore)
	}
	if m.next != nil {
		all = append(all, m.patienceEnds()...)
	}
	if m.next != nil && !m.trusted.IsZero() {
		all = append(all, m.trusted.Add(m.policy.Settle))
		if m.current != nil {
			all = append(all, m.unverifiableAt())
		}
	}
	if !m.restart.IsZero() {
		all = append(all, m.restart)
	}
	if !m.previousEnds.IsZero() {
		all = append(all, m.previousEnds)
	}
	for _, ca := range trusted {
		all = append(all, ca.NotAfter)
	}
	return all
}

// earliest is the first instant after now; zero for none.
func earliest(now time.Time, instants ...time.Time) time.Time {
	var first time.Time
	for _, t := range instants {
		if t.After(now) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}
