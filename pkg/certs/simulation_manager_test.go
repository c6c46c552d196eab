package certs

import (
	"bytes"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// clock returns the managers' time.
func (sim *simulation) clock() time.Time { return sim.now.Add(sim.clockOffset) }

// facts returns the facts of a manager. Each object has a random delay of at most lag.
func (sim *simulation) facts(cacheLag time.Duration) Facts {
	f := Facts{
		SecretMeta: blank, Names: names, Running: sim.podsCreated > 0, Issuer: sim.provider, RotationRequest: sim.rotationRequest, RestartedFor: sim.restartedFor, ReadOnly: sim.secretRefused,
		Secret: sim.secret.stateAt(sim.now.Add(-sim.upTo(cacheLag))),
	}
	if i := sim.issuers[sim.provider]; i != nil {
		f.Issued = i.stateAt(sim.now.Add(-sim.upTo(cacheLag)))
	}
	for _, r := range sim.registrations {
		if seen := r.stateAt(sim.now.Add(-sim.upTo(cacheLag))); !seen.deleted {
			f.Registrations = append(f.Registrations, seen.Registration)
		}
	}
	return f
}

// decide obtains the facts that a decision needs, as the controller does.
func (sim *simulation) decide(cacheLag time.Duration) Decision {
	f := sim.facts(cacheLag)
	for {
		d := Decide(f, sim.policy, sim.clock())
		switch d.Need {
		case NeedNothing:
			return d
		case NeedIssued:
			f.Issued = new(mint(sim.T, *d.Mint))
		case NeedRotating:
			f.Rotating = new(int)
		case NeedLive:
			f = sim.liveFacts(f)
		case NeedEvidence:
			f = sim.liveFacts(f)
			f.Evidence = sim.evidence(d)
		}
	}
}

func (sim *simulation) liveFacts(f Facts) Facts {
	liveFacts := sim.facts(0)
	liveFacts.Live, liveFacts.Issued, liveFacts.Rotating = true, f.Issued, f.Rotating
	return liveFacts
}

// reconcile is one reconciliation. As in pkg/rollout, a lower generation never replaces a higher
// one. If faulty is set, writes may be delayed or lost.
func (sim *simulation) reconcile(faulty bool) {
	sim.requeueAt = time.Time{}
	if sim.provider == managerv1alpha1.ProviderNone {
		return // the manager does not write
	}
	seen := make([]registration, len(sim.registrations))
	for i, r := range sim.registrations {
		seen[i] = r.stateAt(sim.now.Add(-sim.upTo(sim.cacheLag)))
	}
	d := sim.decide(sim.cacheLag)
	var do []func() bool
	if d.Remove != nil {
		do = append(do, func() bool { return sim.removeSecret(d.Remove) })
	}
	if d.Reissue {
		do = append(do, sim.reissue)
	}
	if d.Write != nil {
		do = append(do, func() bool { return sim.writeSecret(d.Write) })
	}
	for i, r := range seen {
		if !r.deleted && (r.Generation < d.Generation || r.Generation == d.Generation && !bytes.Equal(r.CABundle, d.Trust)) {
			do = append(do, func() bool { return sim.writeRegistration(i, r.number, d) })
		}
	}
	if next := earliest(sim.clock(), d.PollAt, d.ChangesAt); !next.IsZero() {
		sim.requeueAt = next.Add(-sim.clockOffset)
	}
	sim.applyWrites(do, faulty)
	sim.applyToPods(d)
}

// enqueue schedules a reconciliation. The queue has one entry for each half second.
func (sim *simulation) enqueue(after time.Duration) {
	at := sim.now.Add(after + 500*time.Millisecond).Truncate(500 * time.Millisecond)
	if !sim.queued[at] {
		sim.queued[at] = true
		sim.schedule(at.Sub(sim.now), func() {
			delete(sim.queued, at)
			sim.reconcile(true)
		})
	}
}

// applyWrites carries out the writes in order. With faulty, some are delayed or lost. A failed
// reconciliation is retried.
func (sim *simulation) applyWrites(do []func() bool, faulty bool) {
	retryAfter := time.Second + sim.upTo(14*time.Second)
	pause, failed := time.Duration(0), false
	write := func(do func() bool) {
		if failed = failed || !do(); failed {
			sim.enqueue(retryAfter)
		}
	}
	for _, one := range do {
		if faulty && sim.random.percent(5) {
			sim.enqueue(retryAfter)
			return
		}
		if faulty && sim.random.percent(10) {
			pause += sim.upTo(2 * time.Minute)
		}
		if pause > 0 {
			sim.pendingWrites++
			sim.schedule(pause, func() {
				sim.pendingWrites--
				write(one)
			})
		} else {
			write(one)
		}
	}
}
