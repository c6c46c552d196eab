package certs

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// due is the age of a generation at two thirds of its life: 60 of 90 days, less a
// third of the 5 minutes by which its life begins before its mint.
const due = 60*day - 100*time.Second

func TestDecide(t *testing.T) {
	var (
		first      = minted(t, 1, start)
		second     = minted(t, 2, after(10*day))
		stray      = minted(t, 7, after(day))
		old        = minted(t, 1, after(-89*day))
		later      = minted(t, 3, after(30*day))
		other      = mint(t, Request{Number: 1, Names: DNSNames("other-service", "shop"), NotBefore: after(-day), NotAfter: after(80 * day)})
		empty      = holding(first)
		unlabelled = holding(first)
		opaque     = holding(first)
	)
	known := map[string]Generation{"first": first, "second": second, "stray": stray, "old": old, "later": later, "other": other}
	empty.Data = map[string][]byte{}
	unlabelled.Labels = nil
	opaque.Type = corev1.SecretTypeOpaque

	registeredFirst := [][]byte{first.CA}
	garbage := []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")

	const bootstrap, stable, recovering = managerv1alpha1.CertificateBootstrap, managerv1alpha1.CertificateStable, managerv1alpha1.CertificateRecovering
	cases := map[string]struct {
		secret     *corev1.Secret
		registered [][]byte
		at         time.Time

		phase   managerv1alpha1.CertificatePhase
		serving string // the generation; empty for none
		trust   []string
		mint    int64 // the number; 0 for nothing
		problem string
		next    time.Time
	}{
		"nothing yet": {
			phase: bootstrap, mint: 1,
		},
		"a generation in its prime": {
			secret: holding(first), registered: registeredFirst, at: start,
			phase: stable, serving: "first", trust: []string{"first"}, next: after(due),
		},
		"in its prime before anything is registered": {
			secret: holding(first), at: start,
			phase: stable, serving: "first", trust: []string{"first"}, next: after(due),
		},
		"earlier CAs are trusted until they end": {
			secret: holding(second, first, old), registered: registeredFirst, at: after(11 * day),
			phase: stable, serving: "second", trust: []string{"second", "first"}, next: after(10*day + due),
		},
		"the end of an earlier CA is looked at": {
			secret: holding(first, old), registered: registeredFirst, at: start,
			phase: stable, serving: "first", trust: []string{"first", "old"}, next: after(day),
		},
		"a caBundle edited by hand is not adopted": {
			secret: holding(first), registered: [][]byte{first.CA, stray.CA, nil}, at: after(2 * day),
			phase: stable, serving: "first", trust: []string{"first"}, next: after(due),
		},
		"the instant before it is due": {
			secret: holding(first), registered: registeredFirst, at: after(due - time.Second),
			phase: stable, serving: "first", trust: []string{"first"}, next: after(due),
		},
		"due": {
			secret: holding(first), registered: registeredFirst, at: after(due),
			phase: recovering, serving: "first", trust: []string{"first"}, mint: 2, next: after(90 * day),
		},
		"due, and what else is registered is not adopted": {
			secret: holding(first), registered: [][]byte{cas(first, stray)}, at: after(61 * day),
			phase: recovering, serving: "first", trust: []string{"first"}, mint: 8, next: after(90 * day),
		},
		"due with nothing registered": {
			secret: holding(first), at: after(61 * day),
			phase: bootstrap, serving: "first", trust: []string{"first"}, mint: 2, next: after(90 * day),
		},
		"at its very end": {
			secret: holding(first), registered: registeredFirst, at: after(90 * day),
			phase: recovering, mint: 2,
			problem: "Secret shop/manager-service-cert: tls.crt ended at 2026-05-30T12:00:00Z; a new certificate replaces it",
		},
		"begun in the future": {
			secret: holding(later), registered: [][]byte{later.CA}, at: start,
			phase: recovering, trust: []string{"later"}, mint: 4, next: after(30*day - 5*time.Minute),
			problem: "Secret shop/manager-service-cert: tls.crt is valid only from 2026-03-31T11:55:00Z, which is yet to come: " +
				"compare the clocks of the nodes; a new certificate replaces it",
		},
		"for another Service": {
			secret: holding(other), registered: [][]byte{other.CA}, at: start,
			phase: recovering, trust: []string{"other"}, mint: 2, next: after(80 * day),
			problem: "tls.crt is not valid for manager-service.shop",
		},
		"lost while registered": {
			registered: [][]byte{first.CA, cas(second, first)}, at: after(11 * day),
			phase: recovering, trust: []string{"second", "first"}, mint: 3, next: after(90 * day),
			problem: "the Secret with the serving certificate is gone; a new certificate replaces it",
		},
		"lost, and the order of registrations does not matter": {
			registered: [][]byte{cas(second, first), first.CA}, at: after(11 * day),
			phase: recovering, trust: []string{"second", "first"}, mint: 3, next: after(90 * day),
			problem: "is gone",
		},
		"lost, among the registered CAs some that ended and some that do not parse": {
			registered: [][]byte{slices.Concat([]byte("what is this\n"), garbage, old.CA, garbage, first.CA)}, at: after(11 * day),
			phase: recovering, trust: []string{"first"}, mint: 2, next: after(90 * day),
			problem: "is gone",
		},
		"lost, and the caBundle emptied": {
			registered: [][]byte{nil}, at: start,
			phase: recovering, mint: 1,
			problem: "is gone",
		},
		"without its key": {
			secret: edited(holding(first, old), corev1.TLSPrivateKeyKey, nil), registered: [][]byte{stray.CA}, at: start,
			phase: recovering, trust: []string{"first", "old", "stray"}, mint: 8, next: after(day),
			problem: "Secret shop/manager-service-cert: tls.key is missing; a new certificate replaces it",
		},
		"with the key of another": {
			secret: edited(holding(first), corev1.TLSPrivateKeyKey, second.Key), registered: registeredFirst, at: start,
			phase: recovering, trust: []string{"first"}, mint: 2, next: after(90 * day),
			problem: "tls.crt and tls.key are no pair (tls: private key does not match public key)",
		},
		"with a leaf that does not parse": {
			secret: edited(holding(first), corev1.TLSCertKey, garbage), registered: registeredFirst, at: start,
			phase: recovering, trust: []string{"first"}, mint: 2, next: after(90 * day),
			problem: "tls.crt and tls.key are no pair (x509: malformed certificate)",
		},
		"with a CA that does not parse": {
			secret: edited(holding(first), vocabulary.KeyCA, garbage), registered: registeredFirst, at: start,
			phase: recovering, trust: []string{"first"}, mint: 2, next: after(90 * day),
			problem: "ca.crt holds no certificate that can be read",
		},
		"with the CA of another": {
			secret: edited(holding(first), vocabulary.KeyCA, second.CA), registered: registeredFirst, at: after(11 * day),
			phase: recovering, trust: []string{"second", "first"}, mint: 3, next: after(90 * day),
			problem: "tls.crt is not signed for serving by the CA in ca.crt (x509: certificate signed by unknown authority",
		},
		"empty, before anything is registered": {
			secret: empty, at: start,
			phase: bootstrap, mint: 2,
			problem: "tls.crt is missing",
		},
		"earlier CAs that do not parse do not hurt": {
			secret: edited(holding(second), vocabulary.KeyPreviousCAs, slices.Concat(garbage, first.CA)), registered: registeredFirst, at: after(11 * day),
			phase: stable, serving: "second", trust: []string{"second", "first"}, next: after(10*day + due),
		},
		"not labelled as managed": {
			secret: unlabelled, at: start,
			phase: bootstrap,
			problem: "Secret shop/manager-service-cert lacks the label olm.managed=true, so it belongs to somebody else and is left alone; " +
				"the serving certificate needs this name: delete the Secret or give it another name",
		},
		"of another type": {
			secret: opaque, at: start,
			phase:   bootstrap,
			problem: `Secret shop/manager-service-cert has type "Opaque" instead of "kubernetes.io/tls"`,
		},
		"not ours any more while registered: live webhooks keep their trust": {
			secret: unlabelled, registered: [][]byte{cas(first, old)}, at: start,
			phase: bootstrap, trust: []string{"first", "old"}, next: after(day),
			problem: "lacks the label",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.at.IsZero() {
				c.at = start
			}
			d := Decide(Facts{Secret: c.secret, Registered: c.registered, Names: names}, DefaultPolicy(), c.at)

			if d.Phase != c.phase {
				t.Errorf("phase is %s, want %s", d.Phase, c.phase)
			}
			if got := servedBy(d, known); got != c.serving {
				t.Errorf("serving is %q, want %q", got, c.serving)
			}
			if got := describe(d.Trust, known); !slices.Equal(got, c.trust) {
				t.Errorf("trust is %q, want %q", got, c.trust)
			}
			if (d.Problem == "") != (c.problem == "") || !strings.Contains(d.Problem, c.problem) {
				t.Errorf("problem is %q, want %q", d.Problem, c.problem)
			}
			if !d.Next.Equal(c.next) {
				t.Errorf("next look is at %s, want %s", d.Next, c.next)
			}
			checkRequest(t, d.Mint, c.mint, c.at)
		})
	}
}

func servedBy(d Decision, known map[string]Generation) string {
	if d.Serving == nil {
		return ""
	}
	return describe(d.Serving.CA, known)[0]
}

func checkRequest(t *testing.T, r *Request, number int64, at time.Time) {
	t.Helper()
	switch {
	case r == nil && number == 0:
	case r == nil:
		t.Errorf("nothing is to be minted, want generation %d", number)
	case r.Number != number:
		t.Errorf("generation %d is to be minted, want %d", r.Number, number)
	case !slices.Equal(r.Names, names):
		t.Errorf("the names to be minted are %q, want %q", r.Names, names)
	case !r.NotBefore.Equal(at.Add(-5*time.Minute)) || !r.NotAfter.Equal(at.Add(90*day)):
		t.Errorf("to be minted from %s to %s, at %s", r.NotBefore, r.NotAfter, at)
	}
}

func TestServingTellsTheGeneration(t *testing.T) {
	g := minted(t, 3, start)
	secret := holding(g)
	serving := Decide(Facts{Secret: secret, Names: names}, DefaultPolicy(), start).Serving
	if serving.Number != 3 || !bytes.Equal(serving.CA, g.CA) || !serving.NotAfter.Equal(after(90*day)) {
		t.Errorf("generation 3, which ends at %s, is reported as %+v", after(90*day), serving)
	}
	if serving.CAHash != secret.Annotations[vocabulary.AnnotationCAHash] || serving.CAHash != hexSHA256(g.CA) {
		t.Errorf("the CA's hash is %s, and %s on the Secret", serving.CAHash, secret.Annotations[vocabulary.AnnotationCAHash])
	}
	if want := hexSHA256(parse(g.CA)[0].Raw); serving.CAFingerprint != want {
		t.Errorf("the CA's fingerprint is %s, want %s", serving.CAFingerprint, want)
	}
}

func TestDecideLeavesItsFactsAlone(t *testing.T) {
	secret := holding(minted(t, 1, start))
	registered := [][]byte{bytes.Clone(secret.Data[vocabulary.KeyCA])}
	before := secret.DeepCopy()
	d := Decide(Facts{Secret: secret, Registered: registered, Names: names}, DefaultPolicy(), after(70*day))
	Fill(secret, minted(t, 2, after(70*day)), d)
	if got, want := secret.String(), before.String(); got != want {
		t.Errorf("the Secret changed from %s to %s", want, got)
	}
	if !bytes.Equal(registered[0], before.Data[vocabulary.KeyCA]) {
		t.Error("the registered caBundle changed")
	}
}

func TestDNSNames(t *testing.T) {
	want := []string{"manager-service.shop", "manager-service.shop.svc", "manager-service.shop.svc.cluster.local"}
	if got := DNSNames("manager-service", "shop"); !slices.Equal(got, want) {
		t.Errorf("names are %q, want %q", got, want)
	}
}
