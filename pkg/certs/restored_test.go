package certs

import (
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A Secret that a client restored to its state before a rotation is repaired like a damaged one:
// its certificate must not be published, and pods serve another one.
func TestRestoredSecret(t *testing.T) {
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day))
	secret := secretWith(t, first)
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
		"state before the rotation": {
			facts: Facts{Secret: secret.Secret, Registrations: retired, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 2", phase: distributing, trust: "3 2", message: "missing",
		},
		"state before the rotation, from caches": {
			facts: cached(secret, retired...), at: at,
			need: NeedLive, phase: distributing, trust: "2", message: "the certificate predates certificate generation 2; a new certificate replaces it",
		},
		"state before the promotion": {
			facts: live(distributed, retired...), at: at,
			write: "next 2, previous 2", phase: distributing, trust: "2", message: "missing",
		},
		"state before the promotion, from caches": {
			facts: cached(distributed, retired...), at: at,
			need: NeedLive, phase: distributing, trust: "2", message: "the certificate predates the moment from which webhook v trusts the next one alone",
		},
		"state before two rotations, with a next generation": {
			facts: live(distributed, stale...), at: at,
			write: "next 2, previous 3", phase: distributing, trust: "3 2", message: "missing",
		},
		"state before two rotations, and another issuer has issued": {
			facts: Facts{Provider: "theirs", Secret: distributed.Secret, Registrations: stale, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 3", phase: distributing, trust: "3", message: "missing",
		},
		"one registration was written for a lost generation and trusts the current one": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{served(1, first), another}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 3 1", phase: distributing, trust: "3 1", message: "missing",
		},
		"not restored: a caBundle was edited": {
			facts: cached(distributed, served(2, third)), at: at,
			phase: distributing, trust: "2 1", message: "does not trust the next certificate yet",
		},
		"not restored: registrations are not updated yet": {
			facts: cached(distributed, served(1, first)), at: at,
			phase: distributing, trust: "2 1", message: "does not trust the next certificate yet",
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

// Pods that were restarted while a client restored the Secret may have started with the restored
// certificate. They are restarted again when the next certificate is promoted a second time.
func TestRestoredDuringRestart(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(day))
	both := trusting(second, first)
	secret := secretWith(t, first).next(second, after(day)).trusted(after(day), both).Secret
	for restartedFor, want := range map[string]int64{"": 2, "1": 2, "2": 3} {
		f := Facts{Secret: secret, Registrations: []Registration{both}, Names: names, Running: true, RestartedFor: restartedFor}
		f = unproved(f)
		d := Decide(f, DefaultPolicy(), after(day+time.Minute))
		installtest.Same(t, fmt.Sprintf("restarted for %q: phase", restartedFor), promoting, d.Phase)
		installtest.Same(t, fmt.Sprintf("restarted for %q: generations of pods and registrations", restartedFor), []int64{want, want}, []int64{d.Serving.Number, d.Generation})
		f.Secret = d.Write
		if again := Decide(f, DefaultPolicy(), after(day+time.Minute)); again.Write != nil || again.Need != NeedEvidence {
			t.Errorf("restarted for %q: it writes %q then, and needs %q", restartedFor, describe(again.Write), again.Need)
		}
	}
}

// For all generation numbers that another client may write, the manager stops writing after a few
// steps, and the published generation can be written to the registrations.
func TestEditedGenerationNumbers(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(day))
	numbers := []int64{0, 2, 7, 3_000_000_000, math.MaxUint32}
	for _, secret := range []storedSecret{secretWith(t, first), secretWith(t, first).next(second, after(day))} {
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

// restless returns why decisions about the facts do not reach a stable state; empty if they do.
func restless(t *testing.T, f Facts) string {
	var writes []string
	for len(writes) < 6 {
		d := answered(t, &f, DefaultPolicy(), after(day+time.Minute), func(d Decision) {
			f.Evidence = &Evidence{Leaf: d.Serving.Leaf, Backends: []Backend{{Pod: "a", Serves: ServesUnknown}}}
		})
		switch {
		case certgeneration.Later(f.Registrations[0].Generation, d.Generation):
			return fmt.Sprintf("generation %d is never registered", d.Generation)
		case d.Write == nil:
			return ""
		}
		f.Secret, f.Registrations[0].Generation = d.Write, d.Generation
		writes = append(writes, fmt.Sprintf("%s for generation %d", describe(d.Write), d.Generation))
	}
	return fmt.Sprintf("it does not become stable: %q", writes)
}
