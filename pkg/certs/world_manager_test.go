package certs

import (
	"bytes"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// clock is what managers take for the time.
func (w *world) clock() time.Time { return w.now.Add(w.ahead) }

// facts are what a manager knows whose caches are late by so much, each by another part
// of it.
func (w *world) facts(lag time.Duration) Facts {
	f := Facts{
		SecretMeta: blank, Names: names, Running: w.born > 0, Issuer: w.provider, RotationRequest: w.order, RestartedFor: w.restartedFor, ReadOnly: w.refused,
		Secret: w.secret.asOf(w.now.Add(-w.upTo(lag))),
	}
	if i := w.issuers[w.provider]; i != nil {
		f.Issued = i.asOf(w.now.Add(-w.upTo(lag)))
	}
	for _, r := range w.registrations {
		if seen := r.asOf(w.now.Add(-w.upTo(lag))); !seen.gone {
			f.Registrations = append(f.Registrations, seen.Registration)
		}
	}
	return f
}

// decide finds out what a decision lacks, as a controller does.
func (w *world) decide(lag time.Duration) Decision {
	f := w.facts(lag)
	for {
		d := Decide(f, w.policy, w.clock())
		switch d.Need {
		case NeedNothing:
			return d
		case NeedIssued:
			f.Issued = new(mint(w.T, *d.Mint))
		case NeedRotating:
			f.Rotating = new(int)
		case NeedLive:
			f = w.live(f)
		case NeedEvidence:
			f = w.live(f)
			f.Evidence = w.evidence(d)
		}
	}
}

func (w *world) live(f Facts) Facts {
	live := w.facts(0)
	live.Live, live.Issued, live.Rotating = true, f.Issued, f.Rotating
	return live
}

// pass is a manager's. As in pkg/rollout, a lower generation is never written over a
// higher one. With a faulty one, writes come late, all of them or some, or it dies.
func (w *world) pass(faulty bool) {
	w.looksAt = time.Time{}
	if w.provider == managerv1alpha1.ProviderNone {
		return // it keeps its hands off
	}
	seen := make([]registration, len(w.registrations))
	for i, r := range w.registrations {
		seen[i] = r.asOf(w.now.Add(-w.upTo(w.lag)))
	}
	d := w.decide(w.lag)
	var do []func() bool
	if d.Remove != nil {
		do = append(do, func() bool { return w.removeSecret(d.Remove) })
	}
	if d.Reissue {
		do = append(do, w.reissue)
	}
	if d.Write != nil {
		do = append(do, func() bool { return w.writeSecret(d.Write) })
	}
	for i, r := range seen {
		if !r.gone && (r.Generation < d.Generation || r.Generation == d.Generation && !bytes.Equal(r.CABundle, d.Trust)) {
			do = append(do, func() bool { return w.writeRegistration(i, r.number, d) })
		}
	}
	if next := earliest(w.clock(), d.PollAt, d.ChangesAt); !next.IsZero() {
		w.looksAt = next.Add(-w.ahead)
	}
	w.send(do, faulty)
	w.follow(d)
}

// look has a manager make a pass after a while. Its queue knows one for each half of a second.
func (w *world) look(after time.Duration) {
	at := w.now.Add(after + 500*time.Millisecond).Truncate(500 * time.Millisecond)
	if !w.looks[at] {
		w.looks[at] = true
		w.in(at.Sub(w.now), func() {
			delete(w.looks, at)
			w.pass(true)
		})
	}
}

// send carries out writes in their order, or has them come late, or not at all. Who fails
// looks again, and so does who takes over from one that died.
func (w *world) send(do []func() bool, faulty bool) {
	again := time.Second + w.upTo(14*time.Second)
	pause, failed := time.Duration(0), false
	write := func(do func() bool) {
		if failed = failed || !do(); failed {
			w.look(again)
		}
	}
	for _, one := range do {
		if faulty && w.random.chance(5) {
			w.look(again)
			return
		}
		if faulty && w.random.chance(10) {
			pause += w.upTo(2 * time.Minute)
		}
		if pause > 0 {
			w.underWay++
			w.in(pause, func() {
				w.underWay--
				write(one)
			})
		} else {
			write(one)
		}
	}
}
