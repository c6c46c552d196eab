package certs

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const (
	bootstrap    = managerv1alpha1.CertificateBootstrap
	stable       = managerv1alpha1.CertificateStable
	distributing = managerv1alpha1.CertificateDistributing
	promoting    = managerv1alpha1.CertificatePromoting
	retiring     = managerv1alpha1.CertificateRetiring
)

// decision is a table row: facts and the expected decision.
type decision struct {
	facts Facts
	at    time.Time

	need    Need
	write   string // as describe has it; empty for none
	phase   managerv1alpha1.CertificatePhase
	trust   string // numbers of the CAs
	message string // in Problem or Message

	restarts, reissues bool
}

func cached(secret storedSecret, registrations ...Registration) Facts {
	return Facts{Secret: secret.Secret, Registrations: registrations}
}

func live(secret storedSecret, registrations ...Registration) Facts {
	f := cached(secret, registrations...)
	f.Live = true
	return f
}

func (c decision) check(t *testing.T) {
	t.Helper()
	if c.at.IsZero() {
		c.at = start
	}
	if c.facts.Names == nil {
		c.facts.Names = names
	}
	c.facts.SecretMeta = blank
	if c.facts.Live && c.facts.Propagation == nil {
		c.facts = unproved(c.facts)
	}
	d := Decide(c.facts, DefaultPolicy(), c.at)
	installtest.Same(t, "need", c.need, d.Need)
	installtest.Same(t, "write", c.write, describe(d.Write))
	installtest.Same(t, "it restarts pods", c.restarts, d.Restart)
	installtest.Same(t, "it requests a reissue", c.reissues, d.Reissue)
	installtest.Same(t, "phase", c.phase, d.Phase)
	installtest.Same(t, "trust", c.trust, numbersOf(parse(d.Trust)))
	installtest.Same(t, "the number of trusted CAs", len(parse(d.Trust)), d.TrustedCAs)
	installtest.Says(t, "the message", c.message, d.Problem+d.Message)
	if d.Write != nil {
		installtest.Same(t, "the name of the Secret that it writes", "manager-service-cert", d.Write.Name)
		if c.facts.Secret != nil {
			installtest.Same(t, "its resourceVersion", c.facts.Secret.ResourceVersion, d.Write.ResourceVersion)
		}
	}
}

// answered returns the decision after the facts that it needs are obtained. It mints, and no API server can be asked; obtain
// adds the other facts.
func answered(t *testing.T, f *Facts, p Policy, now time.Time, obtain func(Decision)) Decision {
	t.Helper()
	return answeredWith(t, f, p, now, func(d Decision) {
		if d.Need == NeedPropagation {
			*f = unproved(*f)
			return
		}
		obtain(d)
	})
}

// answeredWith is answered, but obtain also asks API servers.
func answeredWith(t *testing.T, f *Facts, p Policy, now time.Time, obtain func(Decision)) Decision {
	t.Helper()
	for {
		d := Decide(*f, p, now)
		switch d.Need {
		case NeedNothing:
			return d
		case NeedIssued:
			f.Issued = new(mint(t, *d.Mint))
		default:
			obtain(d)
		}
	}
}

// due is when a generation minted at start is renewed at the latest: after two thirds of its
// validity. Jitter makes it earlier.
const due = 60 * day

func TestServing(t *testing.T) {
	g := minted(t, 3, start)
	secret := secretWith(t, g).Secret
	serving := Decide(Facts{Secret: secret, Names: names}, DefaultPolicy(), start).Serving
	if serving.Number != 3 || !bytes.Equal(serving.CA, g.CA) || !serving.NotAfter.Equal(after(90*day)) || serving.Provider != managerv1alpha1.ProviderManager {
		t.Errorf("generation 3, which expires at %s, is reported as %+v", after(90*day), serving)
	}
	installtest.Same(t, "the CA's hash", hexSHA256(g.CA), serving.CAHash)
	installtest.Same(t, "the CA's hash on the Secret", hexSHA256(g.CA), secret.Annotations[wellknown.AnnotationCAHash])
	installtest.Same(t, "the CA's fingerprint", hexSHA256(parse(g.CA)[0].Raw), serving.CAFingerprint)
	installtest.Same(t, "the leaf's fingerprint", hexSHA256(parse(g.Certificate)[0].Raw), serving.Leaf)
}

func TestDecideDoesNotModifyFacts(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	secret := secretWith(t, first).next(second, after(due)).Secret
	before := secret.DeepCopy()
	Decide(Facts{Secret: secret, Live: true, Names: names}, DefaultPolicy(), after(due))
	installtest.Same(t, "the Secret", before.String(), secret.String())
}

// Updated is when pods were given the certificate.
func TestUpdated(t *testing.T) {
	one, two := minted(t, 1, start.Add(-time.Hour)), minted(t, 2, after(due))
	first := secretWith(t, one)
	distributing := first.next(two, after(due)).trusted(after(due+time.Minute), trusting(two, one))
	promoting := distributing.promoted(after(due + time.Hour))
	stable := promoting.change(after(due+2*time.Hour), editor.endRotation)
	for name, test := range map[string]struct {
		holds storedSecret
		want  time.Time
	}{
		"first certificate": {first, start},
		"distributing":      {distributing, start},
		"promoting":         {promoting, after(due + time.Hour)},
		"stable":            {stable, after(due + time.Hour)},
		"not recorded":      {stable.with(func(s *corev1.Secret) { delete(s.Annotations, wellknown.AnnotationUpdatedAt) }), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Facts{Secret: test.holds.Secret, Names: names, Provider: managerv1alpha1.ProviderManager}, DefaultPolicy(), after(due+3*time.Hour))
			if d.Serving == nil || !d.Serving.Updated.Equal(test.want) {
				t.Errorf("serving %+v, want it updated at %s", d.Serving, test.want)
			}
		})
	}
}

// ChangesAt is the first time at which the decision changes. With a later time, a change would be missed.
func TestChangesAt(t *testing.T) {
	type row struct {
		facts  Facts
		at     time.Duration // after start
		settle time.Duration
	}
	settle := DefaultPolicy().Settle
	first, second, ahead := minted(t, 1, start), minted(t, 2, after(due)), minted(t, 2, after(due+time.Hour))
	secret, one, both := secretWith(t, first), []Registration{trusting(first)}, []Registration{trusting(second, first)}
	distributed := secret.next(second, start)
	promoted := distributed.promoted(after(due)).Secret
	seen := func(serves Observation) *Evidence {
		return &Evidence{Leaf: secret.assembled(second).leaf(), Backends: []Backend{{Serves: serves}}}
	}
	for name, test := range map[string]row{
		"stable":                              {cached(secret, one...), 0, settle},
		"settling":                            {unproved(cached(distributed.trusted(after(due), both...), both...)), due, settle},
		"the previous certificate expires":    {Facts{Secret: promoted, Live: true, Evidence: seen(ServesUnknown)}, due, settle},
		"issued certificate is not valid yet": {Facts{Secret: secret.Secret, Registrations: one, Provider: byCertManager, Issued: &ahead}, due, settle},
		"expired during the settle time":      {unproved(cached(distributed.trusted(after(90*day-time.Minute), both...), both...)), 90 * day, time.Hour},
		"waiting to restart pods":             {Facts{Secret: promoted, Live: true, Running: true, Registrations: both, Evidence: seen(ServesOther)}, due, settle},
		"waiting for a rotation slot":         {Facts{Secret: secret.Secret, Registrations: one, Rotating: new(10)}, due, settle},
	} {
		t.Run(name, func(t *testing.T) {
			f, policy, at := test.facts, DefaultPolicy(), after(test.at)
			f.Names, policy.Settle = names, test.settle
			d := Decide(f, policy, at)
			if d.ChangesAt.IsZero() {
				t.Fatal("the decision never changes")
			}
			installtest.Same(t, "the decision before ChangesAt", summary(d), summary(Decide(f, policy, d.ChangesAt.Add(-time.Nanosecond))))
			if next := Decide(f, policy, d.ChangesAt); summary(next) == summary(d) {
				t.Errorf("the decision at %s does not change at %s: %s", at, d.ChangesAt, summary(d))
			}
		})
	}
}

// unproved adds that no API server can be asked.
func unproved(f Facts) Facts {
	f.Live, f.Propagation = true, &Propagation{Unknown: "no API server can be asked"}
	return f
}

// proved adds that all API servers were asked, and that some are behind.
func proved(f Facts, behind ...string) Facts {
	f.Live, f.Propagation = true, &Propagation{Behind: behind}
	return f
}

// summary returns the parts of a decision that the test compares.
func summary(d Decision) string {
	return fmt.Sprintf("%s needs %q, writes %q, trusts %s, restarts %t", d.Phase, d.Need, describe(d.Write), numbersOf(parse(d.Trust)), d.Restart)
}
