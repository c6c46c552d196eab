package certs

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// deployment is one of many, with a pod that does not reload its certificate.
type deployment struct {
	secret       *corev1.Secret
	trusted      Registration
	restartCosts string // Facts.RestartCosts
	restartTime  time.Duration
	serves       string    // fingerprint of the leaf
	startedAt    time.Time // when the rotation began
	restarted    time.Time // when the restart began; zero if none is in progress
	requeueAt    time.Time
	restarts     int
	done         bool
}

// newDeployments returns deployments whose certificates were minted at the same time: 60, in make campaign 200.
func newDeployments(t *testing.T, p Policy, template deployment) []*deployment {
	all := make([]*deployment, ordinarily(60, 200))
	for i := range all {
		g, d := mint(t, *p.request(1, names, start)), template
		d.secret, d.trusted, d.serves = secretWith(t, g).Secret, trusting(g), hexSHA256(parse(g.Certificate)[0].Raw)
		all[i] = &d
	}
	return all
}

// peak is the highest number of concurrent rotations and of concurrent restarts, and how long it
// took from the first rotation that began to the last that was completed.
type peak struct {
	rotations, restarts int
	took                time.Duration
}

// runUntilReplaced advances the time until all deployments have a new certificate, and checks that each restarted once.
func runUntilReplaced(t *testing.T, p Policy, all []*deployment, within time.Duration) peak {
	t.Helper()
	var peaks peak
	random, now := splitMix64{1}, all[0].requeueAt
	for until := now.Add(within); count(all, func(d *deployment) bool { return d.done }) < len(all); now = nextEvent(all, now) {
		if now.After(until) {
			t.Fatalf("some certificates are not replaced within %s", within)
		}
		others := count(all, func(d *deployment) bool { return HasRotationSlot(d.secret, now) })
		first := random.intN(len(all))
		for k := range all {
			others += all[(first+k)%len(all)].reconcile(t, p, now, others)
		}
		peaks.rotations = max(peaks.rotations, others)
		peaks.restarts = max(peaks.restarts, count(all, func(d *deployment) bool { return !d.restarted.IsZero() }))
	}
	for i, d := range all {
		installtest.Same(t, fmt.Sprintf("restarts of deployment %d", i), 1, d.restarts)
	}
	first := slices.MinFunc(all, func(a, b *deployment) int { return a.startedAt.Compare(b.startedAt) })
	peaks.took = now.Sub(first.startedAt)
	t.Logf("%d certificates were replaced within %s, at most %d at once, and at most %d Deployments restarted at once", len(all), peaks.took, peaks.rotations, peaks.restarts)
	return peaks
}

func nextEvent(all []*deployment, now time.Time) time.Time {
	var at time.Time
	for _, d := range all {
		if eventAt := d.eventAt(); !d.done && (at.IsZero() || eventAt.Before(at)) {
			at = eventAt
		}
	}
	if soonest := now.Add(2 * time.Second); at.Before(soonest) {
		return soonest
	}
	return at
}

func (d *deployment) eventAt() time.Time {
	if ends := d.restarted.Add(d.restartTime); !d.restarted.IsZero() && ends.Before(d.requeueAt) {
		return ends
	}
	return d.requeueAt
}

// If many certificates are due for renewal at the same time, because no manager was running, the
// rotation slots limit the concurrent rotations and restarts.
func TestRotationSlotsLimitConcurrency(t *testing.T) {
	t.Parallel()
	p := DefaultPolicy()
	p.Grace = 10 * time.Second
	peaks := runUntilReplaced(t, p, newDeployments(t, p, deployment{requeueAt: after(80 * day), restartTime: 10 * time.Second}), 2*time.Hour)
	if peaks.rotations > p.Parallel || peaks.restarts > p.Parallel || peaks.restarts == 0 {
		t.Errorf("%d at once, and %d restarts, want at most %d", peaks.rotations, peaks.restarts, p.Parallel)
	}
}

// Restarts that make calls fail wait until certificates expire soon. Rotation slots still limit concurrent restarts.
func TestDelayedRestartsAreLimited(t *testing.T) {
	t.Parallel()
	p := DefaultPolicy()
	peaks := runUntilReplaced(t, p, newDeployments(t, p, deployment{requeueAt: after(80 * day), restartTime: 30 * time.Second, restartCosts: "of Recreate"}), 9*day+time.Hour)
	if peaks.restarts > p.Parallel || peaks.restarts == 0 {
		t.Errorf("%d restarts at once, want at most %d", peaks.restarts, p.Parallel)
	}
	if peaks.took < 8*day {
		t.Errorf("the last restart is %s after the first rotation began, want at least 8 days", peaks.took)
	}
}

// Jitter spreads the renewal of certificates minted together: over days, or over minutes if they are short-lived.
func TestRenewalJitterSpreadsRotations(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		validity, within time.Duration
		spread           time.Duration // at least
		atLeast, atMost  int           // at once
	}{
		"over days":    {validity: 90 * day, within: due + day, spread: day, atLeast: 1, atMost: 5},
		"over minutes": {validity: 2 * time.Hour, within: 2 * time.Hour, spread: 2 * time.Minute, atLeast: 10, atMost: 10},
	} {
		t.Run(name, func(t *testing.T) {
			p := DefaultPolicy()
			p.Validity = test.validity
			all := newDeployments(t, p, deployment{requeueAt: start, restartTime: 10 * time.Second})
			peaks := runUntilReplaced(t, p, all, test.within)
			if peaks.rotations < test.atLeast || peaks.rotations > test.atMost || peaks.restarts > test.atMost {
				t.Errorf("%d at once, and %d restarts, want %d to %d", peaks.rotations, peaks.restarts, test.atLeast, test.atMost)
			}
			if peaks.took < test.spread {
				t.Errorf("all are replaced within %s, want them spread over %s at least", peaks.took, test.spread)
			}
		})
	}
}

func count(all []*deployment, what func(*deployment) bool) int {
	return installtest.Count(all, what)
}

func (d *deployment) reconcile(t *testing.T, p Policy, now time.Time, others int) (more int) {
	if !d.restarted.IsZero() && !now.Before(d.restarted.Add(d.restartTime)) {
		d.serves, d.restarted = hexSHA256(parse(d.secret.Data[corev1.TLSCertKey])[0].Raw), time.Time{}
	}
	if now.Before(d.requeueAt) || d.done {
		return 0
	}
	this := []*deployment{d}
	before := count(this, func(d *deployment) bool { return HasRotationSlot(d.secret, now) })
	d.apply(d.decide(t, p, now, others-before), now)
	return count(this, func(d *deployment) bool { return HasRotationSlot(d.secret, now) }) - before
}

// apply carries out a decision and schedules the next reconciliation: at once if something was written.
func (d *deployment) apply(decision Decision, now time.Time) {
	d.requeueAt = earliest(now, decision.PollAt, decision.ChangesAt)
	if decision.Phase == managerv1alpha1.CertificatePromoting && d.restartCosts != "" && !decision.Restart {
		d.requeueAt = decision.ChangesAt // its pod does not change until then
	}
	if decision.Write != nil {
		d.secret, d.requeueAt = decision.Write, now
	}
	if decision.Restart && d.restarted.IsZero() {
		d.restarted = now
		d.restarts++
	}
	if string(d.trusted.CABundle) != string(decision.Trust) {
		d.trusted, d.requeueAt = Registration{Name: d.trusted.Name, Version: fmt.Sprint(now), CABundle: decision.Trust}, now
	}
	if decision.Phase != managerv1alpha1.CertificateStable && d.startedAt.IsZero() {
		d.startedAt = now
	}
	d.done = decision.Phase == managerv1alpha1.CertificateStable && decision.Serving.Number == 2
}

func (d *deployment) decide(t *testing.T, p Policy, now time.Time, others int) Decision {
	f := Facts{Secret: d.secret, Registrations: []Registration{d.trusted}, Names: names, Running: true, RestartCosts: d.restartCosts, Live: true, Rotating: &others}
	return answered(t, &f, p, now, func(decision Decision) { // needs evidence
		b := Backend{Pod: "a", Message: "pod a", Serves: ServesOther}
		if d.serves == decision.Serving.Leaf {
			b.Serves = ServesCurrent
		}
		f.Evidence = &Evidence{Leaf: decision.Serving.Leaf, Backends: []Backend{b}}
	})
}
