package certs

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
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
			d := Decide(Facts{Secret: b.Secret, Registered: []Registration{both}, Names: names}, DefaultPolicy(), now)
			if d.Write == nil {
				t.Fatal("nothing is written")
			}
			for _, a := range []string{vocabulary.AnnotationBegun, vocabulary.AnnotationTrusted, vocabulary.AnnotationPromoted} {
				if at := d.Write.Annotations[a]; at > now.Format(time.RFC3339Nano)+"~" {
					t.Errorf("%s is %s, after %s", a, at, now)
				}
			}
			if again := Decide(Facts{Secret: d.Write, Registered: []Registration{both}, Names: names}, DefaultPolicy(), now); again.Write != nil {
				t.Errorf("it is written again: %s", describe(again.Write))
			}
		})
	}
}

func TestANudgeOfALaterClockCountsForNone(t *testing.T) {
	seen := Evidence{Backends: []Backend{{Pod: "a", Serves: ServesOther, Nudged: after(time.Hour)}, {Pod: "b", Serves: ServesOther, Nudged: after(time.Minute)}}}
	if pods := seen.nudges(start, after(time.Minute)); len(pods) != 1 || pods[0] != "a" {
		t.Errorf("nudged are %q, want a alone", pods)
	}
}

func TestARotationThatIsYetToBeginHoldsNoPlace(t *testing.T) {
	secret := holding(t, minted(t, 1, start)).next(minted(t, 2, start), after(time.Hour)).Secret
	if UnderWay(secret, start) || !UnderWay(secret, after(time.Hour)) {
		t.Error("a place is held from another time on than that of the beginning")
	}
}
