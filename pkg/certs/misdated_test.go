package certs

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A clock that is set back keeps nobody waiting: what was noted for an instant that is yet
// to come counts from now on.
func TestTheClockIsSetBack(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	both := trusting(second, first)
	now, then := after(due), after(due+time.Hour)
	begun := holding(t, first).next(second, then)
	for name, b := range map[string]built{
		"in Distributing":                 begun,
		"while API servers learn":         begun.trusted(then, both),
		"in Promoting":                    begun.promoted(then),
		"in Promoting, and again begun":   begun.promoted(then).next(second, then),
		"the first step was taken before": holding(t, first).next(second, now).trusted(then, both),
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
			if again := Decide(Facts{Secret: d.Write, Registrations: []Registration{both}, Names: names}, DefaultPolicy(), now); again.Write != nil {
				t.Errorf("it is written again: %s", describe(again.Write))
			}
		})
	}
}

// A certificate of a clock that was a year ahead is of no use when that is right again: another one
// is minted at once, and what pods serve stays trusted until they serve that.
func TestTheClockIsSetBackByAYear(t *testing.T) {
	now, then := after(day), after(366*day)
	first, ahead := minted(t, 1, start), minted(t, 2, then)
	promoted := holding(t, first).next(ahead, then).promoted(then)
	one, both := trusting(ahead), trusting(ahead, first)
	for name, f := range map[string]Facts{
		"pods serve it":                            {Secret: holding(t, ahead).Secret, Registrations: []Registration{one}},
		"pods are given it":                        {Secret: promoted.Secret, Registrations: []Registration{one}},
		"pods are given it, and have another's CA": {Secret: holding(t, first).next(ahead, after(80*day)).promoted(after(80 * day)).Secret, Registrations: []Registration{both}},
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
					f.Secret = d.Write // what was noted counts from now on
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

func TestANudgeOfALaterClockCountsForNone(t *testing.T) {
	seen := Evidence{Backends: []Backend{{Pod: "a", Serves: ServesOther, ResyncedAt: after(time.Hour)}, {Pod: "b", Serves: ServesOther, ResyncedAt: after(time.Minute)}}}
	if pods := seen.podsToResync(start, after(time.Minute)); len(pods) != 1 || pods[0] != "a" {
		t.Errorf("nudged are %q, want a alone", pods)
	}
}

func TestARotationThatIsYetToBeginHoldsNoPlace(t *testing.T) {
	secret := holding(t, minted(t, 1, start)).next(minted(t, 2, start), after(time.Hour)).Secret
	if HasRotationSlot(secret, start) || !HasRotationSlot(secret, after(time.Hour)) {
		t.Error("a place is held from another time on than that of the beginning")
	}
}
