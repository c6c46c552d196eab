package certs

import (
	"fmt"
	"testing"
	"time"
)

// ChangesAt is the first time at which the decision changes. With a later time, a change would be
// missed.
func TestChangesAt(t *testing.T) {
	type row struct {
		facts  Facts
		at     time.Duration // after start
		settle time.Duration
	}
	settle := DefaultPolicy().Settle
	first, second, ahead := minted(t, 1, start), minted(t, 2, after(due)), minted(t, 2, after(due+time.Hour))
	secret, one, both := secretWith(t, first), []Registration{trusting(first)}, []Registration{trusting(second, first)}
	distributed := secret.next(second, start)
	promoted := distributed.promoted(after(due)).Secret
	seen := func(serves Observation) *Evidence {
		return &Evidence{Leaf: secret.assembled(second).leaf(), Backends: []Backend{{Serves: serves}}}
	}
	for name, test := range map[string]row{
		"stable":                              {cached(secret, one...), 0, settle},
		"settling":                            {cached(distributed.trusted(after(due), both...), both...), due, settle},
		"the previous certificate expires":    {Facts{Secret: promoted, Live: true, Evidence: seen(ServesUnknown)}, due, settle},
		"issued certificate is not valid yet": {Facts{Secret: secret.Secret, Registrations: one, Provider: byCertManager, Issued: &ahead}, due, settle},
		"expired during the settle time":      {cached(distributed.trusted(after(90*day-time.Minute), both...), both...), 90 * day, time.Hour},
		"waiting to restart pods":             {Facts{Secret: promoted, Live: true, Running: true, Registrations: both, Evidence: seen(ServesOther)}, due, settle},
		"waiting for a rotation slot":         {Facts{Secret: secret.Secret, Registrations: one, Rotating: new(10)}, due, settle},
	} {
		t.Run(name, func(t *testing.T) {
			f, policy, at := test.facts, DefaultPolicy(), after(test.at)
			f.Names, policy.Settle = names, test.settle
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
