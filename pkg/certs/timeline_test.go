package certs

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

var seeds = flag.Uint64("seeds", 8, "how many clusters live through ten rotations")

// campaign is how many seeds it takes for everything to happen that can (make campaign).
const campaign = 1000

// ordinarily returns the first number in the ordinary run, and the second one in make campaign.
func ordinarily(ordinary, inCampaign int) int {
	if *seeds >= campaign {
		return inCampaign
	}
	return ordinary
}

// In no cluster, however late its parts are, and wherever its managers die or are paused,
// does a rotation cost a call that is not exempt.
func TestTenRotationsCostNoCall(t *testing.T) {
	exempted := make([]map[string]int, *seeds)
	t.Run("seeds", func(t *testing.T) {
		for seed := range *seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				exempted[seed] = lived(t, seed, 10).exempted
			})
		}
	})
	for _, e := range exemptions {
		needed := 0
		for _, of := range exempted {
			needed += of[e.reason]
		}
		t.Logf("%6d calls are exempt: %s", needed, e.reason)
		if needed == 0 && *seeds >= campaign {
			t.Errorf("no call needs the exemption: %s", e.reason)
		}
	}
}

// lived is a cluster that has lived through some rotations.
func lived(t *testing.T, seed uint64, through int) *world {
	w := newWorld(t, seed, []managerv1alpha1.CertificateProvider{byManager, byManager, byCertManager, byServiceCA}[seed%4])
	for rotations := 0; rotations < through; {
		if w.rotate(); w.provider != byNobody {
			rotations++ // nobody issues what would be rotated under that
		}
	}
	return w
}

// A story that ended badly can be told again: its seed is all that it takes.
func TestASeedTellsOneStory(t *testing.T) {
	t.Parallel()
	once, again := lived(t, 1, 3), lived(t, 1, 3)
	if once.random != again.random {
		t.Errorf("it tells two stories:\n%s\nand\n%s", strings.Join(once.story, "\n"), strings.Join(again.story, "\n"))
	}
}

// What was decided before a rotation and is written in its middle holds it up. This is what
// promotion reads registrations live for, and why the settle time begins anew with each change.
func TestRegisteredLateInARotation(t *testing.T) { eachRotationMeets(t, registeredLate) }

// What comes at the promotion, or shortly before, has mounted the certificate before, and serves
// it when all others have followed. No trust ends before it has, too.
func TestScaledUpInARotation(t *testing.T) { eachRotationMeets(t, scaledUp) }

// A Secret that is lost again and again, before pods are brought anything of it, leaves a CA in the
// bundles each time. They do not grow for ever, and never lose the oldest, which pods serve.
func TestASecretLostAgainAndAgain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(ordinarily(4, 8)) {
		w := newWorld(t, seed, byManager)
		strikes := map[int]fault{}
		for n := range 2 * maxAuthorities {
			strikes[3*n] = lost
		}
		w.liveThrough(w.sleep(), strikes)
	}
}

// eachRotationMeets has clusters live through rotations that all begin with the same fault.
func eachRotationMeets(t *testing.T, f fault) {
	t.Helper()
	t.Parallel()
	for seed := range uint64(ordinarily(8, 32)) {
		w := newWorld(t, seed, byManager)
		for range 3 {
			w.liveThrough(w.sleep(), map[int]fault{0: f})
		}
	}
}

// Certificates that were minted by a clock that was more than a year ahead are replaced when it is
// right again, without anybody's doing, and calls come through after that.
func TestTheClockWasAYearAhead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(ordinarily(4, 8)) {
		w := newWorld(t, seed, byManager)
		for step := range 3 {
			w.liveThrough(w.sleep(), map[int]fault{10 * step: yearAhead})
			if chain := parse([]byte(w.pair())); chain[0].NotBefore.After(w.now) || chain[0].NotAfter.After(w.now.Add(w.policy.Validity)) {
				t.Errorf("pods are given a certificate of %s to %s at %s", chain[0].NotBefore, chain[0].NotAfter, w.now)
			}
		}
	}
}

// rotate sleeps until the certificate is due, and lives through its rotation, in the
// middle of which something happens, or two things do.
func (w *world) rotate() {
	w.Helper()
	from := w.sleep()
	strikes := map[int]fault{}
	for range 1 + w.random.below(2) {
		strikes[w.random.below(1+w.random.below(60))] = faults[w.random.below(len(faults))]
	}
	w.liveThrough(from, strikes)
}

// liveThrough has a rotation come to its end, and something happen at some of its steps.
func (w *world) liveThrough(from string, strikes map[int]fault) {
	w.Helper()
	for step := range 5000 {
		if f, ok := strikes[step]; ok {
			w.tell("%s", f.name)
			f.happen(w)
			w.forget()
			delete(strikes, step)
		}
		w.step()
		if len(strikes) == 0 && w.over(from) {
			w.rest()
			return
		}
	}
	w.Fatalf("the rotation has not come to its end: %s holds %s\n%s", w.provider, describe(w.secret.last()), strings.Join(w.story, "\n"))
}

// step lets a moment pass.
func (w *world) step() {
	w.Helper()
	w.elapse(100*time.Millisecond + w.upTo(2*time.Second))
	if !w.looksAt.IsZero() && !w.now.Before(w.looksAt) {
		w.pass(true)
	}
}

// sleep lasts until the certificate is due, to a whole second. Its jitter is drawn from its
// bytes, which no seed determines: the days until then differ from run to run, and nothing
// that counts from then on. It returns the one that there was.
func (w *world) sleep() string {
	from := w.pair()
	if w.provider == byNobody {
		w.chooseAnother()
		return "" // it may be the one that issued it
	}
	if serving := w.decide(0).Serving; serving != nil && serving.RenewAt.After(w.now) {
		w.elapse(serving.RenewAt.Add(time.Second - 1).Truncate(time.Second).Sub(w.now))
	}
	w.issue(w.random.chance(40))
	return from
}

// pair is the certificate that the Secret gives to pods.
func (w *world) pair() string {
	if last := w.secret.last(); last != nil {
		return string(last.Data[corev1.TLSCertKey])
	}
	return ""
}

// over tells whether nothing is left to do. Where nobody issues, pods may wait for ever for
// something to mount.
func (w *world) over(from string) bool {
	if w.provider == byNobody {
		return true
	}
	if len(w.events) > 0 {
		return false
	}
	last := w.secret.last()
	if last == nil || len(last.Data[wellknown.KeyNextCA]) > 0 || last.Annotations[wellknown.AnnotationPromotedAt] != "" || w.pair() == from {
		return false
	}
	d := w.decide(0)
	return d.Phase == managerv1alpha1.CertificateStable && d.Write == nil && d.Serving != nil && d.Serving.Issuer == w.provider
}

// rest is when every call succeeds, whatever has happened, unless the manager keeps its
// hands off what has.
func (w *world) rest() {
	w.Helper()
	w.elapse(time.Minute)
	w.compromised = w.disowns(w.secret.last())
	if w.provider == byNobody {
		return
	}
	w.strict, w.outran = true, time.Time{}
	w.call()
	w.strict, w.peace = false, w.decide(0)
}
