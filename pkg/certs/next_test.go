package certs

import (
	"fmt"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Between a pass and its Next nothing may change, or a change would go unnoticed.
func TestNextIsWhenTheAnswerChanges(t *testing.T) {
	first, second, ahead := minted(t, 1, start), minted(t, 2, after(due)), minted(t, 2, after(due+time.Hour))
	for name, f := range map[string]Facts{
		"in its prime":    {Secret: holding(t, first).Secret, Registrations: []Registration{trusting(first)}},
		"API servers":     {Secret: holding(t, first).next(second, start).trusted(after(due), trusting(second, first)).Secret, Registrations: []Registration{trusting(second, first)}},
		"pods have ended": {Secret: holding(t, first).next(second, start).promoted(after(due)).Secret, Live: true, Evidence: &Evidence{Leaf: holding(t, second).assembled(second).leaf(), Backends: []Backend{{Serves: ServesUnknown}}}},
		"issued by a clock ahead": {
			Secret: holding(t, first).Secret, Registrations: []Registration{trusting(first)},
			Issuer: managerv1alpha1.ProviderCertManager, Issued: &ahead,
		},
		"it has ended, and the settle time is long": {
			Secret:        holding(t, first).next(second, start).trusted(after(90*day-time.Minute), trusting(second, first)).Secret,
			Registrations: []Registration{trusting(second, first)},
		},
		"pods are restarted": {
			Secret: holding(t, first).next(second, start).promoted(after(due)).Secret, Live: true, Running: true,
			Registrations: []Registration{trusting(second, first)},
			Evidence:      &Evidence{Leaf: holding(t, second).assembled(second).leaf(), Backends: []Backend{{Serves: ServesOther}}},
		},
		"others go first": {Secret: holding(t, first).Secret, Registrations: []Registration{trusting(first)}, Rotating: new(10)},
	} {
		t.Run(name, func(t *testing.T) {
			f.Names = names
			policy, at := DefaultPolicy(), after(due)
			switch name {
			case "in its prime":
				at = start
			case "it has ended, and the settle time is long":
				policy.Settle, at = time.Hour, after(90*day)
			}
			d := Decide(f, policy, at)
			if d.ChangesAt.IsZero() {
				t.Fatal("the answer is said never to change")
			}
			if same := Decide(f, policy, d.ChangesAt.Add(-time.Nanosecond)); summary(same) != summary(d) {
				t.Errorf("the answer of %s changes before %s: from %s to %s", at, d.ChangesAt, summary(d), summary(same))
			}
			if next := Decide(f, policy, d.ChangesAt); summary(next) == summary(d) {
				t.Errorf("the answer of %s does not change at %s: %s", at, d.ChangesAt, summary(d))
			}
		})
	}
}

// summary is what a decision has people and clusters do.
func summary(d Decision) string {
	return fmt.Sprintf("%s needs %q, writes %q, trusts %s, restarts %t", d.Phase, d.Need, describe(d.Write), numbersOf(parse(d.Trust)), d.Restart)
}
