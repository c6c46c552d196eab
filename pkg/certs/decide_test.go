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

const (
	bootstrap    = managerv1alpha1.CertificateBootstrap
	stable       = managerv1alpha1.CertificateStable
	distributing = managerv1alpha1.CertificateDistributing
	promoting    = managerv1alpha1.CertificatePromoting
	retiring     = managerv1alpha1.CertificateRetiring
)

// decision is a row of a table: what is known, and what it amounts to.
type decision struct {
	facts Facts
	at    time.Time

	need  Need
	write string // as describe has it; empty for none
	phase managerv1alpha1.CertificatePhase
	trust string // numbers of the CAs
	says  string // in Problem or Message
}

// check asks for one decision.
func (c decision) check(t *testing.T) {
	t.Helper()
	if c.at.IsZero() {
		c.at = start
	}
	if c.facts.Names == nil {
		c.facts.Names = names
	}
	c.facts.Blank = blank
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
	if got := numbersOf(parse(d.Trust)); got != c.trust {
		t.Errorf("it trusts %q, want %q", got, c.trust)
	}
	if said := d.Problem + d.Message; !strings.Contains(said, c.says) || c.says == "" && said != "" {
		t.Errorf("it says %q, want %q", said, c.says)
	}
	if d.Write != nil && (d.Write.Name != "manager-service-cert" || c.facts.Secret != nil && d.Write.ResourceVersion != c.facts.Secret.ResourceVersion) {
		t.Errorf("it writes Secret %s under resourceVersion %q", d.Write.Name, d.Write.ResourceVersion)
	}
}

// due is when a generation of start is, whatever its jitter: after two thirds of its life.
const due = 60 * day

// The way of a rotation that nothing disturbs.
func TestRotation(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	secret := holding(t, first)
	distributed := secret.next(second, after(due))
	both, one, other := trusting(second, first), trusting(first), trusting(second)
	promoted := distributed.trusted(after(due), both).promoted(after(due + time.Minute))
	ten := 10
	seconds := func(n int) time.Time { return after(due + time.Duration(n)*time.Second) }
	seen := func(backends ...Backend) *Evidence {
		return &Evidence{Leaf: promoted.assembled(second).leaf(), Backends: backends}
	}
	for name, c := range map[string]decision{
		"nothing is there, by caches": {
			need: NeedIssued, phase: bootstrap,
		},
		"nothing is there but pods: caches do not do": {
			facts: Facts{Running: true},
			need:  NeedLive, phase: bootstrap,
		},
		"the first generation is given to pods at once": {
			facts: Facts{Issued: &first},
			write: "current 1", phase: stable, trust: "1",
		},
		"in its prime": {
			facts: Facts{Secret: secret.Secret, Registered: []Registration{one}},
			phase: stable, trust: "1",
		},
		"due, and it is not known how many others are": {
			facts: Facts{Secret: secret.Secret, Registered: []Registration{one}}, at: after(due),
			need: NeedRotating, phase: stable, trust: "1",
		},
		"due, and it is not its turn": {
			facts: Facts{Secret: secret.Secret, Registered: []Registration{one}, Rotating: &ten}, at: after(due),
			phase: stable, trust: "1", says: "waits for its turn: 10 others are being replaced",
		},
		"due for long": {
			facts: Facts{Secret: secret.Secret, Registered: []Registration{one}, Rotating: &ten}, at: after(88 * day),
			need: NeedIssued, phase: stable, trust: "1",
		},
		"due": {
			facts: Facts{Secret: secret.Secret, Registered: []Registration{one}, Rotating: new(int)}, at: after(due),
			need: NeedIssued, phase: stable, trust: "1",
		},
		"the next generation is stored": {
			facts: Facts{Secret: secret.Secret, Registered: []Registration{one}, Rotating: new(int), Issued: &second}, at: after(due),
			write: "current 1, next 2", phase: distributing, trust: "2 1",
		},
		"not all trust it": {
			facts: Facts{Secret: distributed.Secret, Registered: []Registration{both, {Name: "webhook w", CABundle: first.CA}}, Live: true}, at: seconds(1),
			phase: distributing, trust: "2 1", says: "webhook w does not trust the next certificate yet",
		},
		"all trust it, by caches": {
			facts: Facts{Secret: distributed.Secret, Registered: []Registration{both}}, at: seconds(1),
			need: NeedLive, phase: distributing, trust: "2 1",
		},
		"all trust it, and API servers have to learn": {
			facts: Facts{Secret: distributed.Secret, Registered: []Registration{both}, Live: true}, at: seconds(1),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"API servers learn": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both).Secret, Registered: []Registration{both}}, at: seconds(5),
			phase: distributing, trust: "2 1", says: "until 2026-04-30T12:00:06Z",
		},
		"API servers have learnt, by caches": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both).Secret, Registered: []Registration{both}}, at: seconds(6),
			need: NeedLive, phase: distributing, trust: "2 1",
		},
		"API servers have learnt": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both).Secret, Registered: []Registration{both}, Live: true}, at: seconds(6),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"somebody changed a registration since": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both).Secret, Registered: []Registration{both, trusting(second, first, first)}, Live: true}, at: seconds(6),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"somebody took the trust away since": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both).Secret, Registered: []Registration{one}, Live: true}, at: seconds(6),
			phase: distributing, trust: "2 1", says: "does not trust",
		},
		"nobody is called any more": {
			facts: Facts{Secret: distributed.Secret, Live: true}, at: seconds(1),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"pods have not been asked": {
			facts: Facts{Secret: promoted.Secret, Registered: []Registration{both}, Live: true}, at: seconds(61),
			need: NeedEvidence, phase: promoting, trust: "2 1",
		},
		"pods were asked, and the rest is from caches": {
			facts: Facts{Secret: promoted.Secret, Registered: []Registration{both}, Evidence: seen()}, at: seconds(61),
			need: NeedEvidence, phase: promoting, trust: "2 1",
		},
		"pods were asked for another certificate": {
			facts: Facts{Secret: promoted.Secret, Registered: []Registration{both}, Live: true, Evidence: &Evidence{Leaf: "another"}}, at: seconds(61),
			phase: promoting, trust: "2 1",
		},
		"one pod serves it": {
			facts: Facts{Secret: promoted.Secret, Registered: []Registration{both}, Live: true, Evidence: seen(
				Backend{Pod: "a"}, Backend{Pod: "b", Serves: ServesOther, Message: "pod b serves another certificate"})}, at: seconds(61),
			phase: promoting, trust: "2 1", says: "(1/2 new, 1 old, 0 unknown): pod b serves another certificate; the CA before stays trusted, at most until 2026-05-30T12:00:00Z",
		},
		"all pods serve it": {
			facts: Facts{Secret: promoted.Secret, Registered: []Registration{both}, Live: true, Evidence: seen(Backend{Pod: "a"}, Backend{Pod: "b"})}, at: seconds(61),
			write: "current 2", phase: retiring, trust: "2",
		},
		"there is no pod": {
			facts: Facts{Secret: promoted.Secret, Registered: []Registration{both}, Live: true, Evidence: seen()}, at: seconds(61),
			write: "current 2", phase: retiring, trust: "2",
		},
		"what pods serve has ended": {
			facts: Facts{Secret: promoted.Secret, Registered: []Registration{both}, Live: true, Evidence: seen(Backend{Pod: "a", Serves: ServesUnknown})}, at: after(90 * day),
			write: "current 2", phase: retiring, trust: "2",
		},
		"the registrations follow": {
			facts: Facts{Secret: promoted.change(seconds(62), func(m *machine, s *corev1.Secret) { m.retire(s) }).Secret, Registered: []Registration{other}}, at: seconds(62),
			phase: stable, trust: "2",
		},
	} {
		t.Run(name, c.check)
	}
}

// What is lost, spoiled or replaced while webhooks are called takes the way of any other
// rotation, and pods are not given what somebody else put there.
func TestRepair(t *testing.T) {
	first, second, third, foreign := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day)), minted(t, 9, after(2*day))
	foreign.Number = 0
	late := minted(t, 4, after(91*day))
	secret := holding(t, first)
	distributed := secret.next(second, after(day))
	promoted := distributed.promoted(after(day))
	overwrite := func(b built) *corev1.Secret {
		return b.edited(corev1.TLSCertKey, foreign.Certificate).edited(corev1.TLSPrivateKeyKey, foreign.Key).edited(vocabulary.KeyCA, foreign.CA).Secret
	}
	one, both := trusting(first), trusting(second, first)
	at := after(2 * day)
	for name, c := range map[string]decision{
		"lost: caches do not do": {
			facts: Facts{Registered: []Registration{one}}, at: at,
			need: NeedLive, phase: distributing, trust: "1", says: "the Secret with the serving certificate is gone; a new certificate replaces it",
		},
		"lost": {
			facts: Facts{Registered: []Registration{both}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 2 1", phase: distributing, trust: "3 2 1", says: "the certificate is missing",
		},
		"lost, and the caBundle emptied": {
			facts: Facts{Registered: []Registration{{Name: "v"}}, Live: true, Issued: &third}, at: at,
			write: "next 3", phase: distributing, trust: "3", says: "missing",
		},
		"lost with nothing registered, and pods run": {
			facts: Facts{Live: true, Running: true, Issued: &third}, at: at,
			write: "current 3, promoted", phase: promoting, trust: "3",
		},
		"without its key": {
			facts: Facts{Secret: secret.edited(corev1.TLSPrivateKeyKey, nil).Secret, Registered: []Registration{one}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 1", phase: distributing, trust: "3 1", says: "missing",
		},
		"with the key of another: nothing is changed by caches": {
			facts: Facts{Secret: secret.edited(corev1.TLSPrivateKeyKey, second.Key).Secret, Registered: []Registration{one}}, at: at,
			need: NeedLive, phase: distributing, trust: "1", says: "no pair",
		},
		"a foreign pair, whole and of a piece": {
			facts: Facts{Secret: overwrite(secret), Registered: []Registration{one}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 1", phase: distributing, trust: "3 1", says: "missing",
		},
		"a foreign pair while the next is being trusted": {
			facts: Facts{Secret: overwrite(distributed), Registered: []Registration{both}, Live: true}, at: at,
			write: "next 2, previous 2 1", phase: distributing, trust: "2 1", says: "missing",
		},
		"a foreign pair while the next is being trusted, by caches": {
			facts: Facts{Secret: overwrite(distributed), Registered: []Registration{one}}, at: at,
			need: NeedLive, phase: distributing, trust: "2 1", says: "is not the one that the manager put there",
		},
		"a foreign pair while pods take the new one up": {
			facts: Facts{Secret: overwrite(promoted), Registered: []Registration{both}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 2 1, promoted", phase: distributing, trust: "3 2 1", says: "missing",
		},
		"another Secret in its place": {
			facts: Facts{Secret: holding(t, foreign).with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Registered: []Registration{one}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 1", phase: distributing, trust: "3 1", says: "missing",
		},
		"with a next that is none": {
			facts: Facts{Secret: distributed.edited(vocabulary.KeyNextKey, []byte("what")).Secret, Registered: []Registration{one}}, at: at,
			phase: stable, trust: "1",
		},
		"ended while nobody looked": {
			facts: Facts{Secret: secret.Secret, Registered: []Registration{one}, Issued: &late}, at: after(91 * day),
			write: "current 1, next 4", phase: distributing, trust: "4", says: "the certificate ended at 2026-05-30T12:00:00Z; a new certificate replaces it",
		},
		"ended: nobody waits for API servers to learn": {
			facts: Facts{Secret: secret.next(late, after(91*day)).Secret, Registered: []Registration{trusting(late)}, Live: true}, at: after(91 * day),
			write: "current 4, promoted", phase: promoting, trust: "4",
		},
		"the clock was set back": {
			facts: Facts{Secret: secret.Secret, Registered: []Registration{one}}, at: after(-day),
			need: NeedIssued, phase: stable, trust: "1", says: "is valid only from 2026-03-01T11:55:00Z, which is yet to come: compare the clocks of the nodes",
		},
		"for another Service": {
			facts: Facts{Secret: secret.Secret, Registered: []Registration{one}, Names: DNSNames("other-service", "shop")},
			need:  NeedIssued, phase: stable, trust: "1", says: "the certificate is not valid for other-service.shop",
		},
		"a caBundle edited by hand is not adopted": {
			facts: Facts{Secret: secret.Secret, Registered: []Registration{trusting(first, foreign)}},
			phase: retiring, trust: "1",
		},
		"it cannot be written: trust stays as it is": {
			facts: Facts{Secret: promoted.Secret, Registered: []Registration{both}, Live: true, ReadOnly: true,
				Evidence: &Evidence{Leaf: promoted.assembled(second).leaf()}}, at: at,
			phase: promoting, trust: "2 1",
		},
	} {
		t.Run(name, c.check)
	}
}

func TestOrders(t *testing.T) {
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(day))
	secret := holding(t, first)
	done := secret.with(func(s *corev1.Secret) { s.Annotations[vocabulary.AnnotationOrderDone] = "a" })
	distributed := secret.next(second, after(day))
	one := trusting(first)
	at := after(day)
	many := secret.edited(vocabulary.KeyPreviousCAs, slices.Concat(minted(t, 2, start).CA, minted(t, 3, start).CA, minted(t, 4, start).CA,
		minted(t, 5, start).CA, minted(t, 6, start).CA, minted(t, 7, start).CA)).with(func(s *corev1.Secret) {
		s.Annotations[vocabulary.AnnotationPromoted] = start.Format(time.RFC3339)
	})
	for name, c := range map[string]decision{
		"an order":                         {facts: Facts{Secret: secret.Secret, Registered: []Registration{one}, Order: "a", Issued: &second}, at: at, write: "current 1, next 2", phase: distributing, trust: "2 1"},
		"one that was followed":            {facts: Facts{Secret: done.Secret, Registered: []Registration{one}, Order: "a"}, at: at, phase: stable, trust: "1"},
		"the one after it":                 {facts: Facts{Secret: done.Secret, Registered: []Registration{one}, Order: "b"}, at: at, need: NeedIssued, phase: stable, trust: "1"},
		"while the last is under way":      {facts: Facts{Secret: distributed.Secret, Registered: []Registration{one}, Order: "a"}, at: at, phase: distributing, trust: "2 1", says: "does not trust"},
		"with no room in the bundle":       {facts: Facts{Secret: many.Secret, Registered: []Registration{one}, Order: "a"}, at: at, need: NeedEvidence, phase: promoting, trust: "7 6 5 4 3 2 1"},
		"compromised: caches do not do":    {facts: Facts{Secret: secret.Secret, Registered: []Registration{one}, Order: "compromised a"}, at: at, need: NeedLive, phase: stable, trust: "1"},
		"compromised":                      {facts: Facts{Secret: secret.Secret, Registered: []Registration{one}, Live: true, Order: "compromised a", Issued: &second}, at: at, write: "current 2, promoted", phase: promoting, trust: "2"},
		"compromised in a rotation":        {facts: Facts{Secret: distributed.Secret, Registered: []Registration{one}, Live: true, Order: "compromised a"}, at: at, write: "current 2, promoted", phase: promoting, trust: "2"},
		"compromised while pods follow":    {facts: Facts{Secret: distributed.promoted(at).Secret, Registered: []Registration{one}, Live: true, Order: "compromised a", Issued: &third}, at: at, write: "current 3, promoted", phase: promoting, trust: "3"},
		"the first certificate ends none":  {facts: Facts{Live: true, Order: "a", Issued: &first}, at: at, write: "current 1", phase: stable, trust: "1"},
		"by the first certificate, before": {facts: Facts{Secret: holding(t, first).Secret, Registered: []Registration{one}}, at: at, phase: stable, trust: "1"},
	} {
		t.Run(name, c.check)
	}
	d := Decide(Facts{Live: true, Order: "a", Issued: &first, Blank: blank, Names: names}, DefaultPolicy(), at)
	if again := Decide(Facts{Secret: d.Write, Order: "a", Names: names}, DefaultPolicy(), at); again.Need != NeedNothing {
		t.Errorf("an order of before the first certificate is followed after it")
	}
}

// Other issuers than the manager feed the same machine.
func TestIssuers(t *testing.T) {
	const theirs = managerv1alpha1.CertificateProvider("theirs")
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day))
	ours := holding(t, first)
	issued, again := second, third
	issued.Number, again.Number = 0, 0
	distributed := ours.change(after(day), func(m *machine, s *corev1.Secret) { m.Issuer = theirs; m.storeNext(s, ours.assembled(issued)) })
	promoted := distributed.promoted(after(day)).change(after(day), func(m *machine, s *corev1.Secret) { m.retire(s) })
	one, both := trusting(first), trusting(second, first)
	for name, c := range map[string]decision{
		"it has issued nothing yet":              {facts: Facts{Issuer: theirs, Live: true}, phase: bootstrap},
		"its first":                              {facts: Facts{Issuer: theirs, Live: true, Issued: &issued}, at: after(day), write: "current 2", phase: stable, trust: "2"},
		"it takes over, and has issued nothing":  {facts: Facts{Issuer: theirs, Secret: ours.Secret, Registered: []Registration{one}}, at: after(day), phase: stable, trust: "1"},
		"it takes over":                          {facts: Facts{Issuer: theirs, Secret: ours.Secret, Registered: []Registration{one}, Issued: &issued}, at: after(day), write: "current 1, next 2", phase: distributing, trust: "2 1"},
		"what is stored already is not anew":     {facts: Facts{Issuer: theirs, Secret: distributed.Secret, Registered: []Registration{both}, Issued: &issued}, at: after(day), need: NeedLive, phase: distributing, trust: "2 1"},
		"it issues another before it is served":  {facts: Facts{Issuer: theirs, Secret: distributed.Secret, Registered: []Registration{both}, Issued: &again}, at: after(2 * day), write: "current 1, next 3", phase: distributing, trust: "3 1"},
		"what is served is not anew":             {facts: Facts{Issuer: theirs, Secret: promoted.Secret, Registered: []Registration{trusting(second)}, Issued: &issued}, at: after(80 * day), phase: stable, trust: "2"},
		"the manager takes over":                 {facts: Facts{Secret: promoted.Secret, Registered: []Registration{trusting(second)}}, at: after(day), need: NeedIssued, phase: stable, trust: "2"},
		"the manager takes over in the middle":   {facts: Facts{Secret: distributed.Secret, Registered: []Registration{both}}, at: after(day), write: "current 1", phase: retiring, trust: "1"},
		"its Secret is lost":                     {facts: Facts{Issuer: theirs, Live: true, Registered: []Registration{trusting(second)}, Issued: &issued}, at: after(day), write: "next 2, previous 2", phase: distributing, trust: "2", says: "missing"},
		"what it issued is for somebody else":    {facts: Facts{Issuer: theirs, Live: true, Issued: &issued, Names: DNSNames("other", "shop")}, phase: bootstrap},
		"what it issued is no certificate":       {facts: Facts{Issuer: theirs, Live: true, Issued: &Generation{CA: first.CA}}, phase: bootstrap},
		"what it issued is signed by another CA": {facts: Facts{Issuer: theirs, Live: true, Issued: &Generation{CA: first.CA, Certificate: second.Certificate, Key: second.Key}}, phase: bootstrap},
	} {
		t.Run(name, c.check)
	}
}

func TestServingTellsTheGeneration(t *testing.T) {
	g := minted(t, 3, start)
	secret := holding(t, g).Secret
	serving := Decide(Facts{Secret: secret, Names: names}, DefaultPolicy(), start).Serving
	if serving.Number != 3 || !bytes.Equal(serving.CA, g.CA) || !serving.NotAfter.Equal(after(90*day)) || serving.Issuer != managerv1alpha1.ProviderManager {
		t.Errorf("generation 3, which ends at %s, is reported as %+v", after(90*day), serving)
	}
	if serving.CAHash != secret.Annotations[vocabulary.AnnotationCAHash] || serving.CAHash != hexSHA256(g.CA) {
		t.Errorf("the CA's hash is %s, and %s on the Secret", serving.CAHash, secret.Annotations[vocabulary.AnnotationCAHash])
	}
	if want := hexSHA256(parse(g.CA)[0].Raw); serving.CAFingerprint != want {
		t.Errorf("the CA's fingerprint is %s, want %s", serving.CAFingerprint, want)
	}
	if want := hexSHA256(parse(g.Certificate)[0].Raw); serving.Leaf != want {
		t.Errorf("the leaf's fingerprint is %s, want %s", serving.Leaf, want)
	}
}

func TestDecideLeavesItsFactsAlone(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	secret := holding(t, first).next(second, after(due)).Secret
	before := secret.DeepCopy()
	Decide(Facts{Secret: secret, Live: true, Names: names}, DefaultPolicy(), after(due))
	if got, want := secret.String(), before.String(); got != want {
		t.Errorf("the Secret changed from %s to %s", want, got)
	}
}

func TestDNSNames(t *testing.T) {
	want := []string{"manager-service.shop", "manager-service.shop.svc", "manager-service.shop.svc.cluster.local"}
	if got := DNSNames("manager-service", "shop"); !slices.Equal(got, want) {
		t.Errorf("names are %q, want %q", got, want)
	}
}
