package certs

import (
	"bytes"
	"strings"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
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
}

// check calls Decide once.
func (c decision) check(t *testing.T) {
	t.Helper()
	if c.at.IsZero() {
		c.at = start
	}
	if c.facts.Names == nil {
		c.facts.Names = names
	}
	c.facts.SecretMeta = blank
	d := Decide(c.facts, DefaultPolicy(), c.at)
	if d.Need != c.need {
		t.Errorf("it needs %q, want %q", d.Need, c.need)
	}
	if got := describe(d.Write); got != c.write {
		t.Errorf("it writes %q, want %q", got, c.write)
	}
	if d.Phase != c.phase {
		t.Errorf("phase is %s, want %s", d.Phase, c.phase)
	}
	if got := numbersOf(parse(d.Trust)); got != c.trust || d.Trusted != len(parse(d.Trust)) {
		t.Errorf("it trusts %q, and counts %d, want %q", got, d.Trusted, c.trust)
	}
	if said := d.Problem + d.Message; !strings.Contains(said, c.message) || c.message == "" && said != "" {
		t.Errorf("it says %q, want %q", said, c.message)
	}
	if d.Write != nil && (d.Write.Name != "manager-service-cert" || c.facts.Secret != nil && d.Write.ResourceVersion != c.facts.Secret.ResourceVersion) {
		t.Errorf("it writes Secret %s under resourceVersion %q", d.Write.Name, d.Write.ResourceVersion)
	}
}

// due is when a generation minted at start is renewed at the latest: after two thirds of its
// validity. Jitter makes it earlier.
const due = 60 * day

func TestServing(t *testing.T) {
	g := minted(t, 3, start)
	secret := secretWith(t, g).Secret
	serving := Decide(Facts{Secret: secret, Names: names}, DefaultPolicy(), start).Serving
	if serving.Number != 3 || !bytes.Equal(serving.CA, g.CA) || !serving.NotAfter.Equal(after(90*day)) || serving.Issuer != managerv1alpha1.ProviderManager {
		t.Errorf("generation 3, which expires at %s, is reported as %+v", after(90*day), serving)
	}
	if serving.CAHash != secret.Annotations[wellknown.AnnotationCAHash] || serving.CAHash != hexSHA256(g.CA) {
		t.Errorf("the CA's hash is %s, and %s on the Secret", serving.CAHash, secret.Annotations[wellknown.AnnotationCAHash])
	}
	if want := hexSHA256(parse(g.CA)[0].Raw); serving.CAFingerprint != want {
		t.Errorf("the CA's fingerprint is %s, want %s", serving.CAFingerprint, want)
	}
	if want := hexSHA256(parse(g.Certificate)[0].Raw); serving.Leaf != want {
		t.Errorf("the leaf's fingerprint is %s, want %s", serving.Leaf, want)
	}
}

func TestDecideDoesNotModifyFacts(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	secret := secretWith(t, first).next(second, after(due)).Secret
	before := secret.DeepCopy()
	Decide(Facts{Secret: secret, Live: true, Names: names}, DefaultPolicy(), after(due))
	if got, want := secret.String(), before.String(); got != want {
		t.Errorf("the Secret changed from %s to %s", want, got)
	}
}
