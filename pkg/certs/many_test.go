package certs

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// deployment is one of many, with a pod that does not reload.
type deployment struct {
	secret    *corev1.Secret
	trusted   Registration
	costs     string // why a restart makes calls fail
	takes     time.Duration
	serves    string    // the fingerprint of a certificate
	begun     time.Time // when the certificate was found due
	restarted time.Time // when its pods were told to; zero when they serve what they are given
	looksAt   time.Time
	restarts  int
	done      bool
}

// manyAlike are sixty, in make campaign two hundred, that hold certificates which were minted at one moment.
func manyAlike(t *testing.T, p Policy, alike deployment) []*deployment {
	all := make([]*deployment, ordinarily(60, 200))
	for i := range all {
		g, d := mint(t, *p.request(1, names, start)), alike
		d.secret, d.trusted, d.serves = holding(t, g).Secret, trusting(g), hexSHA256(parse(g.Certificate)[0].Raw)
		all[i] = &d
	}
	return all
}

// load is how many certificates were being replaced at once, at most, how many Deployments
// restarted, and how long it took from the first that was found due to the last that was replaced.
type load struct {
	rotations, restarts int
	took                time.Duration
}

// replaced lets time pass until all have another certificate, and each Deployment was restarted once.
func replaced(t *testing.T, p Policy, all []*deployment, within time.Duration) load {
	t.Helper()
	var most load
	random, now := dice{1}, all[0].looksAt
	for until := now.Add(within); count(all, func(d *deployment) bool { return d.done }) < len(all); now = following(all, now) {
		if now.After(until) {
			t.Fatalf("not all are replaced within %s", within)
		}
		others := count(all, func(d *deployment) bool { return HasRotationSlot(d.secret, now) })
		first := random.below(len(all))
		for k := range all {
			others += all[(first+k)%len(all)].look(t, p, now, others)
		}
		most.rotations = max(most.rotations, others)
		most.restarts = max(most.restarts, count(all, func(d *deployment) bool { return !d.restarted.IsZero() }))
	}
	for i, d := range all {
		if d.restarts != 1 {
			t.Errorf("deployment %d was restarted %d times, want once", i, d.restarts)
		}
	}
	first := slices.MinFunc(all, func(a, b *deployment) int { return a.begun.Compare(b.begun) })
	most.took = now.Sub(first.begun)
	t.Logf("%d certificates were replaced within %s, at most %d at once, and at most %d Deployments restarted at once", len(all), most.took, most.rotations, most.restarts)
	return most
}

// following is the next instant at which anything happens.
func following(all []*deployment, now time.Time) time.Time {
	var at time.Time
	for _, d := range all {
		if happens := d.happens(); !d.done && (at.IsZero() || happens.Before(at)) {
			at = happens
		}
	}
	if soonest := now.Add(2 * time.Second); at.Before(soonest) {
		return soonest
	}
	return at
}

func (d *deployment) happens() time.Time {
	if ends := d.restarted.Add(d.takes); !d.restarted.IsZero() && ends.Before(d.looksAt) {
		return ends
	}
	return d.looksAt
}

// Many certificates that are due at one moment, because nobody looked for long,
// are replaced a few at a time, and so are the pods that do not reload.
func TestManyAreDueAtOneMoment(t *testing.T) {
	t.Parallel()
	p := DefaultPolicy()
	p.Grace = 10 * time.Second
	most := replaced(t, p, manyAlike(t, p, deployment{looksAt: after(80 * day), takes: 10 * time.Second}), 2*time.Hour)
	if most.rotations > p.Parallel || most.restarts > p.Parallel || most.restarts == 0 {
		t.Errorf("%d at once, and %d restarts, want at most %d", most.rotations, most.restarts, p.Parallel)
	}
}

// Where restarts make calls fail, all are put off, to a time that all certificates of one moment
// have in common: not even then are there more of them at once.
func TestManyRestartsArePutOff(t *testing.T) {
	t.Parallel()
	p := DefaultPolicy()
	most := replaced(t, p, manyAlike(t, p, deployment{looksAt: after(80 * day), takes: 30 * time.Second, costs: "of Recreate"}), 9*day+time.Hour)
	if most.restarts > p.Parallel || most.restarts == 0 {
		t.Errorf("%d restarts at once, want at most %d", most.restarts, p.Parallel)
	}
	if most.took < 8*day {
		t.Errorf("the last pods are restarted %s after their certificates were due, and could wait for 8 days", most.took)
	}
}

// Certificates of one moment come due by themselves at different ones: over days, so that there
// is hardly ever more than one; over minutes where they are short-lived, and few at a time then.
func TestManyComeDueByThemselves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		validity, within  time.Duration
		spread            time.Duration // at least
		atLeast, noMoreOf int           // at once
	}{
		"over days":    {validity: 90 * day, within: due + day, spread: day, atLeast: 1, noMoreOf: 5},
		"over minutes": {validity: 2 * time.Hour, within: 2 * time.Hour, spread: 2 * time.Minute, atLeast: 10, noMoreOf: 10},
	} {
		t.Run(name, func(t *testing.T) {
			p := DefaultPolicy()
			p.Validity = test.validity
			all := manyAlike(t, p, deployment{looksAt: start, takes: 10 * time.Second})
			most := replaced(t, p, all, test.within)
			if most.rotations < test.atLeast || most.rotations > test.noMoreOf || most.restarts > test.noMoreOf {
				t.Errorf("%d at once, and %d restarts, want %d to %d", most.rotations, most.restarts, test.atLeast, test.noMoreOf)
			}
			if most.took < test.spread {
				t.Errorf("all are replaced within %s, want them spread over %s at least", most.took, test.spread)
			}
		})
	}
}

func count(all []*deployment, what func(*deployment) bool) int {
	n := 0
	for _, d := range all {
		if what(d) {
			n++
		}
	}
	return n
}

// look is a pass of a manager, when it is time for one. It tells how many more
// certificates are being replaced after it.
func (d *deployment) look(t *testing.T, p Policy, now time.Time, others int) (more int) {
	if !d.restarted.IsZero() && !now.Before(d.restarted.Add(d.takes)) {
		d.serves, d.restarted = hexSHA256(parse(d.secret.Data[corev1.TLSCertKey])[0].Raw), time.Time{}
	}
	if now.Before(d.looksAt) || d.done {
		return 0
	}
	this := []*deployment{d}
	before := count(this, func(d *deployment) bool { return HasRotationSlot(d.secret, now) })
	d.follow(d.decide(t, p, now, others-before), now)
	return count(this, func(d *deployment) bool { return HasRotationSlot(d.secret, now) }) - before
}

// follow is what comes of a decision, and when it is time for the next: at once where something
// was written.
func (d *deployment) follow(decision Decision, now time.Time) {
	d.looksAt = earliest(now, decision.PollAt, decision.ChangesAt)
	if decision.Phase == managerv1alpha1.CertificatePromoting && d.costs != "" && !decision.Restart {
		d.looksAt = decision.ChangesAt // in between its pod does nothing
	}
	if decision.Write != nil {
		d.secret, d.looksAt = decision.Write, now
	}
	if decision.Restart && d.restarted.IsZero() {
		d.restarted = now
		d.restarts++
	}
	if string(d.trusted.CABundle) != string(decision.Trust) {
		d.trusted, d.looksAt = Registration{Name: d.trusted.Name, Version: fmt.Sprint(now), CABundle: decision.Trust}, now
	}
	if decision.Phase != managerv1alpha1.CertificateStable && d.begun.IsZero() {
		d.begun = now
	}
	d.done = decision.Phase == managerv1alpha1.CertificateStable && decision.Serving.Number == 2
}

func (d *deployment) decide(t *testing.T, p Policy, now time.Time, others int) Decision {
	f := Facts{Secret: d.secret, Registrations: []Registration{d.trusted}, Names: names, Running: true, RestartCosts: d.costs, Live: true, Rotating: &others}
	decision := Decide(f, p, now)
	for decision.Need != NeedNothing {
		if decision.Mint != nil {
			f.Issued = new(mint(t, *decision.Mint))
		}
		if decision.Need == NeedEvidence {
			b := Backend{Pod: "a", Message: "pod a", Serves: ServesOther}
			if d.serves == decision.Serving.Leaf {
				b.Serves = ServesCurrent
			}
			f.Evidence = &Evidence{Leaf: decision.Serving.Leaf, Backends: []Backend{b}}
		}
		decision = Decide(f, p, now)
	}
	return decision
}
