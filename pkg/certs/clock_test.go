package certs

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Recorded times in the future, from a clock that was set back, are reset to now. The rotation does not wait for them.
func TestClockSetBack(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	both := trusting(second, first)
	now, then := after(due), after(due+time.Hour)
	begun := secretWith(t, first).next(second, then)
	for name, b := range map[string]storedSecret{
		"in Distributing":                      begun,
		"while API servers learn":              begun.trusted(then, both),
		"in Promoting":                         begun.promoted(then),
		"in Promoting, with a next generation": begun.promoted(then).next(second, then),
		"the first step has a past time":       secretWith(t, first).next(second, now).trusted(then, both),
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Facts{Secret: b.Secret, Registrations: []Registration{both}, Names: names}, DefaultPolicy(), now)
			if d.Write == nil {
				t.Fatal("nothing is written")
			}
			for _, a := range []string{wellknown.AnnotationNextStoredAt, wellknown.AnnotationNextTrustedAt, wellknown.AnnotationPromotedAt} {
				if at := d.Write.Annotations[a]; at > now.Format(time.RFC3339Nano)+"~" {
					t.Errorf("%s is %s, after %s", a, at, now)
				}
			}
			installtest.Same(t, "the write of the next decision", nil, Decide(Facts{Secret: d.Write, Registrations: []Registration{both}, Names: names}, DefaultPolicy(), now).Write)
		})
	}
}

func TestFutureRotationHasNoSlot(t *testing.T) {
	secret := secretWith(t, minted(t, 1, start)).next(minted(t, 2, start), after(time.Hour)).Secret
	installtest.Same(t, "the slot exists at the start", false, HasRotationSlot(secret, start))
	installtest.Same(t, "the slot exists an hour later", true, HasRotationSlot(secret, after(time.Hour)))
}

// A certificate that was minted while the clock was a year ahead is replaced at once after the
// clock is corrected. The CA that pods serve stays trusted until they serve the new certificate.
func TestClockSetBackByAYear(t *testing.T) {
	now, then := after(day), after(366*day)
	first, ahead := minted(t, 1, start), minted(t, 2, then)
	promoted := secretWith(t, first).next(ahead, then).promoted(then)
	one, both := trusting(ahead), trusting(ahead, first)
	for name, f := range map[string]Facts{
		"pods serve it":                           {Secret: secretWith(t, ahead).Secret, Registrations: []Registration{one}},
		"pods are given it":                       {Secret: promoted.Secret, Registrations: []Registration{one}},
		"pods are given it, with the previous CA": {Secret: secretWith(t, first).next(ahead, after(80*day)).promoted(after(80 * day)).Secret, Registrations: []Registration{both}},
	} {
		t.Run(name, func(t *testing.T) {
			f.Names, f.Live, f.Running = names, true, true
			trusted := parse(f.Registrations[0].CABundle)
			for f.Issued == nil {
				d := Decide(f, DefaultPolicy(), now)
				switch {
				case d.Need == NeedIssued:
					f.Issued = new(mint(t, *d.Mint))
				case d.Write != nil:
					f.Secret = d.Write // the recorded times are reset
				default:
					t.Fatalf("nothing is minted: it needs %q in %s: %s%s", d.Need, d.Phase, d.Problem, d.Message)
				}
			}
			if leaf := parse(f.Issued.Certificate)[0]; leaf.NotBefore.After(now) || leaf.NotAfter.After(after(92*day)) {
				t.Errorf("what is minted is valid from %s to %s", leaf.NotBefore, leaf.NotAfter)
			}
			d := Decide(f, DefaultPolicy(), now)
			if d.Phase != distributing || d.Write == nil {
				t.Errorf("in %s, it writes %q", d.Phase, describe(d.Write))
			}
			published := Registration{CABundle: d.Trust}
			for _, ca := range append(trusted, parse(f.Issued.CA)...) {
				if !published.trusts(ca) {
					t.Errorf("it does not trust %s, only %s", numbersOf([]*x509.Certificate{ca}), numbersOf(parse(d.Trust)))
				}
			}
		})
	}
}
