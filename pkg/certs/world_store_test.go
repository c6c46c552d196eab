package certs

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// version is a state that an object had from an instant on.
type version[T any] struct {
	since time.Time
	value T
}

// object is one that the API server stores, with all that it ever was: a cache shows
// some state of the past.
type object[T any] []version[T]

func (o object[T]) last() T { return o[len(o)-1].value }

// asOf is the state at an instant, the first one before that.
func (o object[T]) asOf(at time.Time) T {
	for i := len(o) - 1; i > 0; i-- {
		if !o[i].since.After(at) {
			return o[i].value
		}
	}
	return o[0].value
}

// registration is what is stored of one.
type registration struct {
	Registration
	number int    // of this state
	bundle string // CABundle, for the sake of comparisons
	edited bool   // by somebody else than a manager
	unseen bool   // made while another manager had decided already, by what it had seen
	gone   bool
}

// writeSecret stores a Secret, if it was that of before.
func (w *world) writeSecret(s *corev1.Secret) bool {
	last := w.secret.last()
	if w.refused || immutable(last) || last == nil && s.ResourceVersion != "" || last != nil && last.ResourceVersion != s.ResourceVersion {
		return false
	}
	w.store(s)
	return true
}

// removeSecret deletes one, if it is as it was seen.
func (w *world) removeSecret(s *corev1.Secret) bool {
	if last := w.secret.last(); w.refused || last == nil || last.ResourceVersion != s.ResourceVersion {
		return false
	}
	w.store(nil)
	return true
}

// store stores a Secret, whatever was there.
func (w *world) store(s *corev1.Secret) {
	if s != nil {
		w.writes++
		s = s.DeepCopy()
		s.ResourceVersion = fmt.Sprint(w.writes)
	}
	w.secret = append(w.secret, version[*corev1.Secret]{w.now, s})
	w.tell("Secret: %s", describe(s))
	w.changed()
}

// writeRegistration has one trust what a decision says, if it is as it was seen.
func (w *world) writeRegistration(i, seen int, d Decision) bool {
	w.Helper()
	if trusted := len(parse(d.Trust)); trusted > maxAuthorities {
		w.Fatalf("%d CAs are to be trusted, want at most %d", trusted, maxAuthorities)
	}
	last := w.registrations[i].last()
	if w.stuck || last.gone || last.number != seen {
		return false
	}
	w.change(i, func(r *registration) {
		r.CABundle, r.Generation, r.edited, r.unseen = d.Trust, d.Generation, false, false
	})
	return true
}

// change changes a registration, whoever does.
func (w *world) change(i int, change func(*registration)) {
	r := w.registrations[i].last()
	r.number++
	r.Version = fmt.Sprint(r.number)
	change(&r)
	r.bundle = string(r.CABundle)
	w.registrations[i] = append(w.registrations[i], version[registration]{w.now, r})
	w.tell("%s, generation %d, trusts %s", r.Name, r.Generation, numbersOf(parse(r.CABundle)))
	w.changed()
}

// register makes a registration as a manager does whose facts are live: what it trusts is in
// the Secret before. While nobody is chosen, it is an administrator who makes it.
func (w *world) register() {
	d := w.decide(0)
	if d.Write != nil && w.provider != byNobody && !w.writeSecret(d.Write) {
		return
	}
	w.registerAs(d)
}

// registerLate makes one as it was decided to between two rotations, if pods are still given what
// they were given then. Whoever creates is not held up by what others have written since. Caches
// may not show it for long.
func (w *world) registerLate() {
	if last := w.secret.last(); w.peace.Serving != nil && last != nil && last.Annotations[wellknown.AnnotationFingerprint] == w.peace.Serving.Leaf {
		if w.random.chance(50) {
			w.stall()
		}
		w.registerAs(w.peace)
	}
}

func (w *world) registerAs(d Decision) {
	r := registration{Registration: Registration{Name: fmt.Sprint("webhook ", len(w.registrations)), CABundle: d.Trust, Generation: d.Generation}, bundle: string(d.Trust), unseen: w.underWay > 0}
	w.registrations = append(w.registrations, object[registration]{{w.now.Add(-time.Hour), registration{gone: true}}, {w.now, r}})
	w.tell("%s is made and trusts %s", r.Name, numbersOf(parse(r.CABundle)))
	w.changed()
}

// changed has managers look, when the change has happened and when all caches show it, and
// API servers call.
func (w *world) changed() {
	w.Helper()
	w.look(w.upTo(w.lag))
	w.look(w.lag)
	w.call()
}
