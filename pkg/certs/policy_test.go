package certs

import (
	"slices"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestPolicyFrom(t *testing.T) {
	const wrong = "the manager's default applies"
	for name, test := range map[string]struct {
		annotations map[string]string
		want        func(*Policy)
		problems    []string
	}{
		"no annotation":         {nil, func(*Policy) {}, nil},
		"another annotation":    {map[string]string{"example.com/validity": "what"}, func(*Policy) {}, nil},
		"all annotations":       {map[string]string{wellknown.AnnotationCertificateValidity: "240h", wellknown.AnnotationCertificateRenewBefore: "24h", wellknown.AnnotationCertificateClockSkew: "1m", wellknown.AnnotationCertificateKey: "rsa-3072"}, func(p *Policy) { p.Validity, p.RenewBefore, p.ClockSkew, p.Key = 10*day, day, time.Minute, KeyRSA3072 }, nil},
		"invalid duration":      {map[string]string{wellknown.AnnotationCertificateValidity: "90 days", wellknown.AnnotationCertificateKey: "Ed25519"}, func(p *Policy) { p.Key = KeyEd25519 }, []string{"annotation " + wellknown.AnnotationCertificateValidity + `: time: unknown unit " days" in duration "90 days"`}},
		"invalid key type":      {map[string]string{wellknown.AnnotationCertificateKey: "DSA"}, func(*Policy) {}, []string{`"DSA" is no kind of key: use one of ECDSA-P256, ECDSA-P384, RSA-3072, Ed25519`}},
		"renewBefore too long":  {map[string]string{wellknown.AnnotationCertificateValidity: "24h", wellknown.AnnotationCertificateRenewBefore: "23h"}, func(*Policy) {}, []string{"to renew 23h0m0s before the end: choose up to nine tenths"}},
		"too short":             {map[string]string{wellknown.AnnotationCertificateValidity: "1m"}, func(*Policy) {}, []string{"a validity of 1m0s: choose from 1h0m0s"}},
		"renewBefore too short": {map[string]string{wellknown.AnnotationCertificateRenewBefore: "1s"}, func(*Policy) {}, []string{"certificate-renew-before: 1s before the end is too late, a rotation takes up to 5m0s with a time to reload of 30s: choose at least that, or 0"}},
		"shortest renewBefore":  {map[string]string{wellknown.AnnotationCertificateRenewBefore: "5m"}, func(p *Policy) { p.RenewBefore = 5 * time.Minute }, nil},
		"negative clock skew":   {map[string]string{wellknown.AnnotationCertificateClockSkew: "-1s"}, func(*Policy) {}, []string{"a clock skew of -1s"}},
	} {
		t.Run(name, func(t *testing.T) {
			want := DefaultPolicy()
			test.want(&want)
			got, problems := PolicyFrom(DefaultPolicy(), test.annotations)
			installtest.Same(t, "the policy", want, got)
			if len(problems) != len(test.problems) {
				t.Fatalf("the problems are %q, want %q (%s)", problems, test.problems, wrong)
			}
			for i := range problems {
				installtest.Says(t, "the problem", test.problems[i], problems[i])
			}
		})
	}
	installtest.Must(t, DefaultPolicy().Validate())
}

// A rotation ends before the previous certificate expires, also if pods need the whole grace time to reload.
func TestRotationFitsBeforeExpiry(t *testing.T) {
	for name, test := range map[string]struct {
		validity, before, grace time.Duration
		ok                      bool
	}{
		"default renewal time":                      {validity: time.Hour, grace: 9 * time.Minute, ok: true},
		"default renewal time, grace time too long": {validity: time.Hour, grace: 10 * time.Minute},
		"renewBefore":                               {validity: 90 * day, before: time.Hour, grace: 29 * time.Minute, ok: true},
		"renewBefore, grace time too long":          {validity: 90 * day, before: time.Hour, grace: 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			p := DefaultPolicy()
			p.Validity, p.RenewBefore, p.Grace = test.validity, test.before, test.grace
			installtest.Same(t, "it is valid", test.ok, p.Validate() == nil)
		})
	}
}

func TestKeyTypes(t *testing.T) {
	for _, kind := range keyTypes {
		t.Run(string(kind), func(t *testing.T) {
			p := DefaultPolicy()
			p.Key = kind
			g := mint(t, *p.request(1, names, start))
			_, err := assemble(g, start)
			installtest.Must(t, err)
			installtest.Must(t, verifies(g.Certificate, g.CA, start))
			installtest.Same(t, "it has a warning", kind == KeyEd25519, p.Warning() != "")
		})
	}
	if _, err := Mint(Request{Number: 1, Names: names, Key: "DSA"}); err == nil {
		t.Error("a key of an unknown type was created")
	}
}

// Certificates that were minted at the same time are due for renewal at different times.
func TestJitter(t *testing.T) {
	p := DefaultPolicy()
	var instants []time.Time
	for i := range 40 {
		g := minted(t, int64(i+1), start)
		at := p.renewAt(parse(g.Certificate))
		if at.After(after(due)) || at.Before(after(due-4*day)) {
			t.Fatalf("renewal is due at %s, want within 4 days before %s", at, after(due))
		}
		installtest.Same(t, "the renewal of the same certificate", at, p.renewAt(parse(g.Certificate)))
		instants = append(instants, at)
	}
	slices.SortFunc(instants, time.Time.Compare)
	if spread := instants[len(instants)-1].Sub(instants[0]); spread < day {
		t.Errorf("40 certificates are due for renewal within %s", spread)
	}
}

func TestRenewBefore(t *testing.T) {
	chain := parse(minted(t, 1, start).Certificate)
	for before, want := range map[time.Duration]time.Duration{0: due, 10 * day: 80 * day, 1000 * day: 9 * day} {
		p := DefaultPolicy()
		p.RenewBefore = before
		if got := p.renewAt(chain).Add(jitter(chain)).Sub(start); (got - want).Abs() > 10*time.Minute {
			t.Errorf("with renewBefore %s, renewal is due after %s, want %s", before, got, want)
		}
	}
}
