package certs

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// Facts is what the cluster holds about one Deployment's serving certificate.
type Facts struct {
	// Secret has the name of the Deployment's serving certificate; nil when there is none.
	Secret *corev1.Secret
	// Blank is the metadata of a Secret that is to be created.
	Blank metav1.ObjectMeta
	// Registered is what makes API servers call the Deployment's webhooks.
	Registered []Registration
	// Names are the DNS names that the leaf must carry.
	Names []string
	// Running is set when the Deployment exists: its pods may serve something.
	Running bool
	// Issuer is who is to issue the certificate; the manager when it is empty.
	Issuer managerv1alpha1.CertificateProvider
	// Issued is the generation that the issuer issued last; nil when there is none. The
	// manager itself issues when a decision asks it to (see Decision.Mint).
	Issued *Generation
	// Order is the value by which somebody orders a rotation (see vocabulary.AnnotationRotate).
	Order string
	// RestartCosts says why a restart of the Deployment's pods makes calls fail; empty when
	// it need not.
	RestartCosts string

	// Occupied says who else writes the Secret, in a sentence with a way out; empty for nobody.
	Occupied string

	// Live is set when Secret and Registered were read from the API server, in this pass.
	Live bool
	// Settled is set when the API servers themselves were seen to trust the next
	// generation, so that the settle time need not pass.
	Settled bool
	// Evidence is what pods serve; nil while that was not asked in this pass.
	Evidence *Evidence
	// Rotating is how many other certificates are being replaced; nil while that was not
	// asked in this pass.
	Rotating *int
	// ReadOnly is set when the API server refuses to write the Secret.
	ReadOnly bool
}

// Need is something that a decision lacks. It has to be found out, and Decide be asked
// again in the same pass.
type Need string

const (
	// NeedNothing is a decision that can be carried out.
	NeedNothing Need = ""
	// NeedLive asks for Facts.Secret and Facts.Registered as the API server has them now:
	// caches are not good enough to give pods another certificate.
	NeedLive Need = "Live"
	// NeedEvidence asks for the same, and for Facts.Evidence.
	NeedEvidence Need = "Evidence"
	// NeedRotating asks for Facts.Rotating.
	NeedRotating Need = "Rotating"
	// NeedIssued asks for Facts.Issued, as Decision.Mint says.
	NeedIssued Need = "Issued"
)

// Decision is what Facts amount to at an instant.
type Decision struct {
	// Need is what the decision lacks. Everything else holds as long as it is not found out.
	Need Need
	// Mint is what to mint, with NeedIssued.
	Mint *Request
	// Write is the Secret as it is to be written next, before anything below is published;
	// nil when it is as it should be. It is to be created when it has no resourceVersion.
	Write *corev1.Secret

	// Phase is where the certificate stands in its life.
	Phase managerv1alpha1.CertificatePhase
	// Serving is the generation that pods are given; nil when there is none that API servers
	// can verify.
	Serving *Serving
	// Trust is the caBundle for registrations; nil when there is nothing to trust.
	Trust []byte
	// Generation is the number of the newest generation in Trust. A bundle of a lower one
	// is never written over one of a higher.
	Generation int64

	// Nudge are the pods whose kubelets are to be made to look at the Secret.
	Nudge []string
	// Restart is set when pods do not take up the generation that they are given, and have
	// to be replaced.
	Restart bool

	// Problem is why the Secret cannot be used and what comes of it, in a sentence for a
	// cluster administrator. Empty when it can, or when it was never needed.
	Problem string
	// Message says what the phase waits for.
	Message string
	// Endpoints counts who serves what, while that matters.
	Endpoints string
	// Next is the earliest instant at which the answer changes by itself; zero for never.
	Next time.Time
	// Again is when to look again before that, because what pods do cannot be watched.
	Again time.Time
}

// Serving is a generation that pods can serve and API servers can verify.
type Serving struct {
	// Number counts generations from 1. It is 0 for a certificate of OLM's.
	Number int64
	// Issuer is who issued it.
	Issuer managerv1alpha1.CertificateProvider
	// Leaf is the hex SHA-256 of the DER form of the certificate that is served.
	Leaf string
	// CA is the certificate of the CA, PEM.
	CA []byte
	// CAHash is the hex SHA-256 of CA, the value of the annotation olmcahash.
	CAHash string
	// CAFingerprint is the hex SHA-256 of the CA's DER form.
	CAFingerprint string
	// NotBefore and NotAfter are when the leaf begins, and when it or its CA ends, whichever
	// is first.
	NotBefore, NotAfter time.Time
	// RenewAt is when it is due.
	RenewAt time.Time
}

// machine is one decision under way.
type machine struct {
	Facts
	state
	policy Policy
	now    time.Time
	d      Decision
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
	m := &machine{Facts: f, policy: p, now: now}
	if problem := cmp.Or(f.Occupied, foreign(f.Secret)); problem != "" {
		return m.keepHandsOff(problem)
	}
	m.state = read(f, now)
	m.step()
	return m.conclude()
}

// step takes at most one step: one write, or one question.
func (m *machine) step() {
	switch {
	case m.compromised():
		m.replace()
	case m.incomplete():
		m.write(m.complete)
	case m.next != nil && !m.reissued():
		m.distribute()
	case m.current == nil:
		m.recover()
	case m.due():
		m.begin()
	case m.next != nil:
		m.write(m.forgetNext) // nobody wants it any more, and no pod could serve it
	case !m.promoted.IsZero():
		m.prove()
	case len(m.previous) > 0:
		m.write(func(s *corev1.Secret) { m.awaitProof(s, m.previous, m.latest(m.previous)) })
	}
}

// conclude says what holds once the step is taken.
func (m *machine) conclude() Decision {
	if m.ReadOnly {
		m.d.Write = nil
	}
	if m.d.Write != nil {
		m.d.Message, m.d.Again = "", time.Time{}
		m.Secret = m.d.Write
		m.state = read(m.Facts, m.now)
	}
	trusted := trustworthy(m.trust(), m.now)
	m.d.Phase = m.phase(trusted)
	m.d.Trust = encode(trusted...)
	m.d.Generation = m.number
	turns := m.turns(trusted)
	if m.d.Problem = m.unusable(); m.d.Problem == "" && m.current != nil {
		m.d.Serving = m.serving(m.current)
	}
	m.d.Next = earliest(m.now, turns...)
	return m.d
}

// unusable is why the Secret cannot be used; empty when it can. That there is none yet is
// no loss.
func (m *machine) unusable() string {
	const remedy = "; a new certificate replaces it"
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
		Number: max(c.Number, numberOf(c.ca())), Issuer: m.issuer, Leaf: c.leaf(),
		CA: ca, CAHash: hexSHA256(ca), CAFingerprint: hexSHA256(c.ca().Raw),
		NotBefore: c.chain[0].NotBefore, NotAfter: end(c.chain), RenewAt: m.policy.renewAt(c.chain),
	}
}

// trust is what registrations have to trust, by the Secret. While that does not tell,
// they keep what they have.
func (m *machine) trust() []*x509.Certificate {
	all := m.authorities()
	if m.current == nil {
		all = append(all, m.registered()...)
	}
	return newestFirst(all)
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

// overtrusted tells whether a registration trusts a CA that it need not trust any more.
func (m *machine) overtrusted(trusted []*x509.Certificate) bool {
	needed := Registration{CABundle: encode(trusted...)}
	for _, ca := range m.registered() {
		if !needed.trusts(ca) {
			return true
		}
	}
	return false
}

// keepHandsOff is the decision about somebody else's Secret: nothing is issued, and
// what is registered keeps the trust that it has.
func (m *machine) keepHandsOff(problem string) Decision {
	trusted := trustworthy(newestFirst(m.registered()), m.now)
	return Decision{
		Phase:      managerv1alpha1.CertificateBootstrap,
		Trust:      encode(trusted...),
		Generation: highestNumber(trusted),
		Problem:    problem,
		Next:       earliest(m.now, m.turns(trusted)...),
	}
}

// compromised tells whether somebody orders that no earlier CA be trusted any more.
func (m *machine) compromised() bool {
	return m.ordered() && strings.HasPrefix(m.Order, vocabulary.RotateCompromised)
}

func (m *machine) ordered() bool { return m.Secret != nil && m.Order != "" && m.Order != m.order }

// turns are instants at which the answer changes by itself.
func (m *machine) turns(trusted []*x509.Certificate) []time.Time {
	var all []time.Time
	if c := m.current; c != nil {
		all = append(all, m.policy.renewAt(c.chain), c.chain[0].NotBefore, c.ca().NotBefore, end(c.chain))
	}
	if m.next != nil && !m.trusted.IsZero() {
		all = append(all, m.trusted.Add(m.policy.Settle))
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
