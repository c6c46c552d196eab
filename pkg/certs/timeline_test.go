package certs

import (
	"flag"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

var seeds = flag.Uint64("seeds", 8, "how many clusters live through ten rotations")

// disturbances come in the middle of rotations. Exempt, and so not simulated, are: a
// kubelet that brings a pair of somebody else's before the manager has seen it; a
// caBundle that somebody edits; and an API server that learns of a registration later
// than the settle time.
var disturbances = map[string]func(*world){
	"nothing":           func(*world) {},
	"the Secret goes":   func(w *world) { w.store(nil) },
	"a pod comes":       func(w *world) { w.addPod(fmt.Sprint("pod-", len(w.pods))) },
	"the Secret spoils": func(w *world) { w.spoil("tls.crt", []byte("spoiled")) },
	"its key goes":      func(w *world) { w.spoil("ca.crt", nil) },
	"next goes":         func(w *world) { w.spoil("next-tls.key", nil) },
}

func (w *world) spoil(key string, value []byte) {
	if last := w.secret.last(); last != nil {
		edited := last.DeepCopy()
		edited.Data[key] = value
		if value == nil {
			delete(edited.Data, key)
		}
		w.store(edited)
	}
}

// In no cluster, however late its parts are, and wherever its managers die or are paused,
// does a rotation cost a call.
func TestTenRotationsCostNoCall(t *testing.T) {
	for seed := range *seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			for rotation := range 10 {
				w.rotate(rotation)
			}
			if w.reloads && w.restarts > 10 {
				t.Errorf("pods that reload were restarted %d times in 10 rotations", w.restarts)
			}
			if !w.reloads && w.restarts == 0 {
				t.Error("pods that do not reload were never restarted")
			}
		})
	}
}

// rotate sleeps until the certificate is due, and lives through its rotation.
func (w *world) rotate(rotation int) {
	w.t.Helper()
	from := w.secret.last()
	if serving := w.decide(0, true).Serving; serving != nil && serving.RenewAt.After(w.now) {
		w.elapse(serving.RenewAt.Sub(w.now))
	}
	names := []string{"nothing", "the Secret goes", "a pod comes", "the Secret spoils", "its key goes", "next goes"}
	disturbance := names[w.random.below(len(names))]
	disturbAfter := w.random.below(40)
	const bound = 4000
	for step := range bound {
		lag := w.upTo(10 * time.Second)
		w.pass(lag, true)
		if step == disturbAfter {
			disturbances[disturbance](w)
		}
		if step > disturbAfter && w.atRest() && w.rotated(from) && w.settledWith(w.decide(0, false)) {
			w.t.Logf("rotation %d (%s) took %d steps", rotation, disturbance, step)
			return
		}
		w.elapse(100*time.Millisecond + w.upTo(2*time.Second))
	}
	w.t.Fatalf("rotation %d (%s) has not come to its end: %s", rotation, disturbance, describe(w.secret.last()))
}

// rotated tells whether the Secret holds another certificate than it did.
func (w *world) rotated(from *corev1.Secret) bool {
	now := w.secret.last()
	return now != nil && string(now.Data["tls.crt"]) != string(from.Data["tls.crt"])
}

// Between a pass and its Next nothing may change, or a change would go unnoticed.
func TestNextIsWhenTheAnswerChanges(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	for name, f := range map[string]Facts{
		"in its prime":    {Secret: holding(t, first).Secret, Registered: []Registration{trusting(first)}},
		"API servers":     {Secret: holding(t, first).next(second, start).trusted(after(due), trusting(second, first)).Secret, Registered: []Registration{trusting(second, first)}},
		"pods have ended": {Secret: holding(t, first).next(second, start).promoted(after(due)).Secret, Live: true, Evidence: &Evidence{Leaf: holding(t, second).assembled(second).leaf(), Backends: []Backend{{Serves: ServesUnknown}}}},
	} {
		t.Run(name, func(t *testing.T) {
			f.Names = names
			at := start
			if name != "in its prime" {
				at = after(due)
			}
			d := Decide(f, DefaultPolicy(), at)
			if d.Next.IsZero() {
				t.Fatal("the answer is said never to change")
			}
			if same := Decide(f, DefaultPolicy(), d.Next.Add(-time.Nanosecond)); summary(same) != summary(d) {
				t.Errorf("the answer of %s changes before %s: from %s to %s", at, d.Next, summary(d), summary(same))
			}
			if next := Decide(f, DefaultPolicy(), d.Next); summary(next) == summary(d) {
				t.Errorf("the answer of %s does not change at %s: %s", at, d.Next, summary(d))
			}
		})
	}
}

// summary is what a decision has people and clusters do.
func summary(d Decision) string {
	return fmt.Sprintf("%s needs %q, writes %q, trusts %s", d.Phase, d.Need, describe(d.Write), numbersOf(parse(d.Trust)))
}
