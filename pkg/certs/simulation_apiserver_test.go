package certs

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// version is a state of an object, since a time.
type version[T any] struct {
	since time.Time
	value T
}

type object[T any] []version[T]

func (o object[T]) last() T { return o[len(o)-1].value }

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

type apiServer struct {
	*timeline
	secret        object[*corev1.Secret]
	registrations []object[registration]
	writes        int

	secretRefused        bool // writes of the Secret are refused
	registrationsRefused bool // writes of registrations are refused
}

func (sim *apiServer) writeSecret(s *corev1.Secret) bool {
	last := sim.secret.last()
	if sim.secretRefused || immutable(last) || last == nil && s.ResourceVersion != "" || last != nil && last.ResourceVersion != s.ResourceVersion {
		return false
	}
	sim.store(s)
	return true
}

func (sim *apiServer) removeSecret(s *corev1.Secret) bool {
	if last := sim.secret.last(); sim.secretRefused || last == nil || last.ResourceVersion != s.ResourceVersion {
		return false
	}
	sim.store(nil)
	return true
}

func (sim *apiServer) store(s *corev1.Secret) {
	if s != nil {
		sim.writes++
		s = s.DeepCopy()
		s.ResourceVersion = fmt.Sprint(sim.writes)
	}
	sim.secret = append(sim.secret, version[*corev1.Secret]{sim.now, s})
	sim.logf("Secret: %s", describe(s))
	sim.changed()
}

// writeRegistration writes the trust of a decision to a registration, if it is unchanged since it was read.
func (sim *apiServer) writeRegistration(i, seen int, d Decision) bool {
	sim.t.Helper()
	if trusted := len(parse(d.Trust)); trusted > maxAuthorities {
		sim.t.Fatalf("%d CAs are trusted, want at most %d", trusted, maxAuthorities)
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

func (sim *apiServer) change(i int, change func(*registration)) {
	r := sim.registrations[i].last()
	r.number++
	r.Version = fmt.Sprint(r.number)
	change(&r)
	r.bundle = string(r.CABundle)
	sim.registrations[i] = append(sim.registrations[i], version[registration]{sim.now, r})
	sim.logf("%s, generation %d, trusts %s", r.Name, r.Generation, numbersOf(parse(r.CABundle)))
	sim.changed()
}

func (sim *apiServer) editKey(key string, value []byte) {
	sim.editSecret(func(s *corev1.Secret) {
		s.Data = with(s.Data, map[string][]byte{key: bytes.Clone(value)}) // the Secret of another client may have no data
		if value == nil {
			delete(s.Data, key)
		}
	})
}

func (sim *apiServer) editSecret(change func(*corev1.Secret)) {
	if last := sim.secret.last(); last != nil {
		edited := last.DeepCopy()
		change(edited)
		sim.store(edited)
	}
}

func (sim *apiServer) pair() string {
	if last := sim.secret.last(); last != nil {
		return string(last.Data[corev1.TLSCertKey])
	}
	return ""
}

func (sim *apiServer) verified(certificate []byte) bool {
	return slices.ContainsFunc(sim.registrations, func(r object[registration]) bool {
		return !r.last().deleted && verifies(certificate, r.last().CABundle, sim.now) == nil
	})
}
