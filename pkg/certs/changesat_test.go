package certs

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// ChangesAt is the first time at which the decision changes. With a later time, a change would be
// missed.
func TestChangesAt(t *testing.T) {
	first, second, ahead := minted(t, 1, start), minted(t, 2, after(due)), minted(t, 2, after(due+time.Hour))
	for name, test := range map[string]struct {
		facts  Facts
		at     time.Time     // after(due) if it is zero
		settle time.Duration // the default if it is zero
	}{
		"stable":                           {facts: Facts{Secret: secretWith(t, first).Secret, Registrations: []Registration{trusting(first)}}, at: start},
		"settling":                         {facts: Facts{Secret: secretWith(t, first).next(second, start).trusted(after(due), trusting(second, first)).Secret, Registrations: []Registration{trusting(second, first)}}},
		"the previous certificate expires": {facts: Facts{Secret: secretWith(t, first).next(second, start).promoted(after(due)).Secret, Live: true, Evidence: &Evidence{Leaf: secretWith(t, second).assembled(second).leaf(), Backends: []Backend{{Serves: ServesUnknown}}}}},
		"issued certificate is not valid yet": {facts: Facts{
			Secret: secretWith(t, first).Secret, Registrations: []Registration{trusting(first)},
			Issuer: managerv1alpha1.ProviderCertManager, Issued: &ahead,
		}},
		"expired during the settle time": {facts: Facts{
			Secret:        secretWith(t, first).next(second, start).trusted(after(90*day-time.Minute), trusting(second, first)).Secret,
			Registrations: []Registration{trusting(second, first)},
		}, at: after(90 * day), settle: time.Hour},
		"waiting to restart pods": {facts: Facts{
			Secret: secretWith(t, first).next(second, start).promoted(after(due)).Secret, Live: true, Running: true,
			Registrations: []Registration{trusting(second, first)},
			Evidence:      &Evidence{Leaf: secretWith(t, second).assembled(second).leaf(), Backends: []Backend{{Serves: ServesOther}}},
		}},
		"waiting for a rotation slot": {facts: Facts{Secret: secretWith(t, first).Secret, Registrations: []Registration{trusting(first)}, Rotating: new(10)}},
	} {
		t.Run(name, func(t *testing.T) {
			f, policy, at := test.facts, DefaultPolicy(), test.at
			f.Names = names
			if at.IsZero() {
				at = after(due)
			}
			policy.Settle = cmp.Or(test.settle, policy.Settle)
			d := Decide(f, policy, at)
			if d.ChangesAt.IsZero() {
				t.Fatal("the decision never changes")
			}
			if same := Decide(f, policy, d.ChangesAt.Add(-time.Nanosecond)); summary(same) != summary(d) {
				t.Errorf("the decision at %s changes before %s: from %s to %s", at, d.ChangesAt, summary(d), summary(same))
			}
			if next := Decide(f, policy, d.ChangesAt); summary(next) == summary(d) {
				t.Errorf("the decision at %s does not change at %s: %s", at, d.ChangesAt, summary(d))
			}
		})
	}
}

// summary returns the parts of a decision that the test compares.
func summary(d Decision) string {
	return fmt.Sprintf("%s needs %q, writes %q, trusts %s, restarts %t", d.Phase, d.Need, describe(d.Write), numbersOf(parse(d.Trust)), d.Restart)
}
