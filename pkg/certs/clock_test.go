package certs

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Recorded times that are in the future, because the clock was set back, are reset to the current
// time. The rotation does not wait for them.
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
			if again := Decide(Facts{Secret: d.Write, Registrations: []Registration{both}, Names: names}, DefaultPolicy(), now); again.Write != nil {
				t.Errorf("the reset Secret is written again: %s", describe(again.Write))
			}
		})
	}
}

func TestFutureRotationHasNoSlot(t *testing.T) {
	secret := secretWith(t, minted(t, 1, start)).next(minted(t, 2, start), after(time.Hour)).Secret
	if HasRotationSlot(secret, start) || !HasRotationSlot(secret, after(time.Hour)) {
		t.Error("the slot does not begin at the start of the rotation")
	}
}
