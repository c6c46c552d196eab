package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// version is a state of an object, since a time.
type version[T any] struct {
	since time.Time
	value T
}

// object is the history of an object in the API server. A cache shows an earlier state.
type object[T any] []version[T]

func (o object[T]) last() T { return o[len(o)-1].value }

// stateAt returns the state at a time; the first one before that.
func (o object[T]) stateAt(at time.Time) T {
	for i := len(o) - 1; i > 0; i-- {
		if !o[i].since.After(at) {
			return o[i].value
		}
	}
	return o[0].value
}

// registration is the stored state of a registration.
type registration struct {
	Registration
	number     int    // of this state
	bundle     string // CABundle as a comparable value
	edited     bool   // by another client
	concurrent bool   // created after another manager made its decision
	deleted    bool
}

// writeSecret stores a Secret under its resourceVersion.
func (sim *simulation) writeSecret(s *corev1.Secret) bool {
	last := sim.secret.last()
	if sim.secretRefused || immutable(last) || last == nil && s.ResourceVersion != "" || last != nil && last.ResourceVersion != s.ResourceVersion {
		return false
	}
	sim.store(s)
	return true
}

// removeSecret deletes the Secret under its resourceVersion.
func (sim *simulation) removeSecret(s *corev1.Secret) bool {
	if last := sim.secret.last(); sim.secretRefused || last == nil || last.ResourceVersion != s.ResourceVersion {
		return false
	}
	sim.store(nil)
	return true
}

// store stores a Secret without a precondition.
func (sim *simulation) store(s *corev1.Secret) {
	if s != nil {
		sim.writes++
		s = s.DeepCopy()
		s.ResourceVersion = fmt.Sprint(sim.writes)
	}
	sim.secret = append(sim.secret, version[*corev1.Secret]{sim.now, s})
	sim.logf("Secret: %s", describe(s))
	sim.changed()
}

// writeRegistration writes the trust of a decision to a registration, if it is unchanged since it
// was read.
func (sim *simulation) writeRegistration(i, seen int, d Decision) bool {
	sim.Helper()
	if trusted := len(parse(d.Trust)); trusted > maxAuthorities {
		sim.Fatalf("%d CAs are trusted, want at most %d", trusted, maxAuthorities)
	}
	last := sim.registrations[i].last()
	if sim.registrationsRefused || last.deleted || last.number != seen {
		return false
	}
	sim.change(i, func(r *registration) {
		r.CABundle, r.Generation, r.edited, r.concurrent = d.Trust, d.Generation, false, false
	})
	return true
}

// change changes a registration without a precondition.
func (sim *simulation) change(i int, change func(*registration)) {
	r := sim.registrations[i].last()
	r.number++
	r.Version = fmt.Sprint(r.number)
	change(&r)
	r.bundle = string(r.CABundle)
	sim.registrations[i] = append(sim.registrations[i], version[registration]{sim.now, r})
	sim.logf("%s, generation %d, trusts %s", r.Name, r.Generation, numbersOf(parse(r.CABundle)))
	sim.changed()
}

// register creates a registration as a manager with live facts does: the Secret with its CA is
// written first. With provider none, an administrator creates it.
func (sim *simulation) register() {
	d := sim.decide(0)
	if d.Write != nil && sim.provider != byNone && !sim.writeSecret(d.Write) {
		return
	}
	sim.registerAs(d)
}

// registerIdleDecision creates a registration with the trust that was decided between two
// rotations, if pods still have the same certificate. Later writes of other managers do not prevent
// a creation. Caches may not show it for a while.
func (sim *simulation) registerIdleDecision() {
	if last := sim.secret.last(); sim.idleDecision.Serving != nil && last != nil && last.Annotations[wellknown.AnnotationFingerprint] == sim.idleDecision.Serving.Leaf {
		if sim.random.percent(50) {
			sim.stallCaches()
		}
		sim.registerAs(sim.idleDecision)
	}
}

func (sim *simulation) registerAs(d Decision) {
	r := registration{Registration: Registration{Name: fmt.Sprint("webhook ", len(sim.registrations)), CABundle: d.Trust, Generation: d.Generation}, bundle: string(d.Trust), concurrent: sim.pendingWrites > 0}
	sim.registrations = append(sim.registrations, object[registration]{{sim.now.Add(-time.Hour), registration{deleted: true}}, {sim.now, r}})
	sim.logf("%s is created and trusts %s", r.Name, numbersOf(parse(r.CABundle)))
	sim.changed()
}

// changed enqueues reconciliations at a random time and when all caches show the change, and makes
// the API servers call.
func (sim *simulation) changed() {
	sim.Helper()
	sim.enqueue(sim.upTo(sim.cacheLag))
	sim.enqueue(sim.cacheLag)
	sim.call()
}
