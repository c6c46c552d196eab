package certs

import (
	"crypto/x509"
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A Secret that somebody put back as it was before a rotation is repaired as a spoiled one is:
// what it says can be published no more, and pods serve something else.
func TestRestoredSecret(t *testing.T) {
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day))
	secret := holding(t, first)
	distributed := secret.next(second, after(day))
	served := func(generation int64, by ...Generation) Registration {
		r := trusting(by...)
		r.Generation = generation
		return r
	}
	another := served(3, first, third)
	another.Name = "webhook w"
	retired, stale := []Registration{served(2, second)}, []Registration{served(3, third)}
	at := after(2 * day)
	for name, c := range map[string]decision{
		"of before the rotation": {
			facts: Facts{Secret: secret.Secret, Registrations: retired, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 2", phase: distributing, trust: "3 2", says: "missing",
		},
		"of before the rotation, by caches": {
			facts: Facts{Secret: secret.Secret, Registrations: retired}, at: at,
			need: NeedLive, phase: distributing, trust: "2", says: "the certificate predates certificate generation 2; a new certificate replaces it",
		},
		"of before the next one was promoted": {
			facts: Facts{Secret: distributed.Secret, Registrations: retired, Live: true}, at: at,
			write: "next 2, previous 2", phase: distributing, trust: "2", says: "missing",
		},
		"of before the next one was promoted, by caches": {
			facts: Facts{Secret: distributed.Secret, Registrations: retired}, at: at,
			need: NeedLive, phase: distributing, trust: "2", says: "the certificate predates the moment from which webhook v trusts the next one alone",
		},
		"of before another rotation, and its next one is given another number": {
			facts: Facts{Secret: distributed.Secret, Registrations: stale, Live: true}, at: at,
			write: "next 2, previous 3", phase: distributing, trust: "3 2", says: "missing",
		},
		"of before another rotation, and another has issued": {
			facts: Facts{Issuer: "theirs", Secret: distributed.Secret, Registrations: stale, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 3", phase: distributing, trust: "3", says: "missing",
		},
		"one registration was written for a generation that is lost, and trusts what is served": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{served(1, first), another}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 3 1", phase: distributing, trust: "3 1", says: "missing",
		},
		"nobody has put anything back: a caBundle was edited": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{served(2, third)}}, at: at,
			phase: distributing, trust: "2 1", says: "does not trust the next certificate yet",
		},
		"nobody has put anything back: registrations are behind": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{served(1, first)}}, at: at,
			phase: distributing, trust: "2 1", says: "does not trust the next certificate yet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.check(t)
			c.facts.Names = names
			if d := Decide(c.facts, DefaultPolicy(), c.at); d.Write != nil && d.Generation < c.facts.writtenNumber() {
				t.Errorf("registrations are not written again for generation %d", d.Generation)
			}
		})
	}
}

// Pods that were being restarted when somebody put back what the Secret was may have started with
// that. They are restarted again when they are given the next certificate for the second time.
func TestRestoredInTheMiddleOfARestart(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(day))
	both := trusting(second, first)
	secret := holding(t, first).next(second, after(day)).trusted(after(day), both).Secret
	for restartedFor, want := range map[string]int64{"": 2, "1": 2, "2": 3} {
		f := Facts{Secret: secret, Registrations: []Registration{both}, Names: names, Live: true, Running: true, RestartedFor: restartedFor}
		d := Decide(f, DefaultPolicy(), after(day+time.Minute))
		if d.Phase != promoting || d.Serving.Number != want || d.Generation != want {
			t.Errorf("restarted for %q: in %s, generation %d is given to pods, and registrations are written for %d, want %d", restartedFor, d.Phase, d.Serving.Number, d.Generation, want)
		}
		f.Secret = d.Write
		if again := Decide(f, DefaultPolicy(), after(day+time.Minute)); again.Write != nil || again.Need != NeedEvidence {
			t.Errorf("restarted for %q: it writes %q then, and needs %q", restartedFor, describe(again.Write), again.Need)
		}
	}
}

// Whatever numbers another client writes, the manager rests after some writes, and what it
// publishes can be written over what registrations have.
func TestEditedNumbers(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(day))
	numbers := []int64{0, 2, 7, 3_000_000_000, math.MaxUint32}
	for _, secret := range []built{holding(t, first), holding(t, first).next(second, after(day))} {
		for _, current := range numbers {
			for _, next := range numbers {
				for _, registered := range numbers {
					for _, restarted := range numbers {
						edited := secret.with(func(s *corev1.Secret) {
							s.Annotations[wellknown.AnnotationGeneration] = fmt.Sprint(current)
							if s.Annotations[wellknown.AnnotationNextGeneration] != "" {
								s.Annotations[wellknown.AnnotationNextGeneration] = fmt.Sprint(next)
							}
						})
						f := Facts{Secret: edited.Secret, Registrations: []Registration{trusting(second, first)}, Names: names, Live: true, RestartedFor: fmt.Sprint(restarted)}
						f.Registrations[0].Generation = registered
						if problem := restless(t, f); problem != "" {
							t.Fatalf("%d is current, %d next, %d registered, %d restarted for: %s", current, next, registered, restarted, problem)
						}
					}
				}
			}
		}
	}
}

// restless says why decisions about these facts do not come to an end; empty when they do.
func restless(t *testing.T, f Facts) string {
	var writes []string
	for len(writes) < 6 {
		d := Decide(f, DefaultPolicy(), after(day+time.Minute))
		switch {
		case d.Need == NeedIssued:
			f.Issued = new(mint(t, *d.Mint))
			continue
		case certgeneration.Later(f.Registrations[0].Generation, d.Generation):
			return fmt.Sprintf("generation %d is never registered", d.Generation)
		case d.Write == nil:
			return ""
		}
		f.Secret, f.Registrations[0].Generation = d.Write, d.Generation
		writes = append(writes, fmt.Sprintf("%s for generation %d", describe(d.Write), d.Generation))
	}
	return fmt.Sprintf("it does not rest: %q", writes)
}

// In place of a certificate that has ended, pods may serve another of its CA: that stays trusted
// until they are seen to serve the next one.
func TestTheCAOfWhatHasEndedStaysTrusted(t *testing.T) {
	leaf := &x509.Certificate{NotBefore: start, NotAfter: after(30 * day), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	first, second := newSigner(t, &x509.Certificate{NotBefore: start, NotAfter: after(365 * day)}).issue(leaf), minted(t, 2, after(40*day))
	distributed := holding(t, first).next(second, after(40*day))
	facts := Facts{Secret: distributed.Secret, Registrations: []Registration{trusting(second, first)}, Names: names, Live: true}
	facts.Secret = Decide(facts, DefaultPolicy(), after(40*day)).Write
	if got, want := describe(facts.Secret), "current 2, previous 0, promoted"; got != want {
		t.Fatalf("what is written is %s, want %s", got, want)
	}
	if d := Decide(facts, DefaultPolicy(), after(40*day)); d.Need != NeedEvidence {
		t.Errorf("pods are not asked: it writes %s", describe(d.Write))
	}
}
