package certs

import (
	"fmt"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// managers are the processes of the manager.
type managers struct {
	*apiServer
	*issuerSet
	*nodes
	*views
	policy          Policy
	rotationRequest string
	cacheLag        time.Duration // longest delay of caches
	requeueAt       time.Time     // zero for never
	queued          map[time.Time]bool
	pendingWrites   int      // delayed
	idleDecision    Decision // the last decision between two rotations
}

// facts returns the facts of a manager. Each object has a random delay of at most lag.
func (sim *managers) facts(cacheLag time.Duration) Facts {
	f := Facts{
		SecretMeta: blank, Names: names, Running: sim.podsCreated > 0, Provider: sim.provider, RotationRequest: sim.rotationRequest, RestartedFor: sim.restartedFor, ReadOnly: sim.secretRefused,
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
func (sim *managers) decide(cacheLag time.Duration) Decision {
	f := sim.facts(cacheLag)
	return answeredWith(sim.t, &f, sim.policy, sim.clock(), func(d Decision) {
		if d.Need == NeedRotating {
			f.Rotating = new(int)
			return
		}
		f = sim.liveFacts(f)
		if d.Need == NeedPropagation {
			f.Propagation = sim.propagation()
		}
		if d.Need == NeedEvidence {
			f.Evidence = sim.evidence(d)
		}
	})
}

func (sim *managers) liveFacts(f Facts) Facts {
	liveFacts := sim.facts(0)
	liveFacts.Live, liveFacts.Issued, liveFacts.Rotating, liveFacts.Propagation = true, f.Issued, f.Rotating, f.Propagation
	return liveFacts
}

// reconcile is one reconciliation. As in pkg/rollout, a lower generation never replaces a higher
// one. If faulty is set, writes may be delayed or lost.
func (sim *managers) reconcile(faulty bool) {
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
		if !r.deleted && !certgeneration.Later(r.Generation, d.Generation) && (r.Generation != d.Generation || r.bundle != string(d.Trust)) {
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
func (sim *managers) enqueue(after time.Duration) {
	at := sim.now.Add(after + 500*time.Millisecond).Truncate(500 * time.Millisecond)
	if !sim.queued[at] {
		sim.queued[at] = true
		sim.schedule(at.Sub(sim.now), func() {
			delete(sim.queued, at)
			sim.reconcile(true)
		})
	}
}

// applyWrites carries out the writes in order, with faulty some late or never. A failed reconciliation is retried.
func (sim *managers) applyWrites(do []func() bool, faulty bool) {
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

// register creates a registration as a manager with live facts does: the Secret with its CA is
// written first. With provider none, an administrator creates it.
func (sim *managers) register() {
	d := sim.decide(0)
	if d.Write != nil && sim.provider != byNone && !sim.writeSecret(d.Write) {
		return
	}
	sim.registerAs(d)
}

// registerIdleDecision creates a registration with the trust that was decided between two
// rotations, if pods still have the same certificate. Later writes of other managers do not prevent
// a creation. Caches may not show it for a while.
func (sim *managers) registerIdleDecision() {
	if last := sim.secret.last(); sim.idleDecision.Serving != nil && last != nil && last.Annotations[wellknown.AnnotationFingerprint] == sim.idleDecision.Serving.Leaf {
		if sim.random.percent(50) {
			sim.stallCaches()
		}
		sim.registerAs(sim.idleDecision)
	}
}

func (sim *managers) registerAs(d Decision) {
	r := registration{Registration: Registration{Name: fmt.Sprint("webhook ", len(sim.registrations)), CABundle: d.Trust, Generation: d.Generation}, bundle: string(d.Trust), concurrent: sim.pendingWrites > 0}
	sim.registrations = append(sim.registrations, object[registration]{{sim.now.Add(-time.Hour), registration{deleted: true}}, {sim.now, r}})
	sim.logf("%s is created and trusts %s", r.Name, numbersOf(parse(r.CABundle)))
	sim.changed()
}

// stallCaches delays caches for a while.
func (sim *managers) stallCaches() {
	was := sim.cacheLag
	sim.cacheLag = sim.upTo(5 * time.Minute)
	sim.schedule(sim.upTo(10*time.Minute), func() { sim.cacheLag = min(was, 10*time.Second); sim.changed() })
}
