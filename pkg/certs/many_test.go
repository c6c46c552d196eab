package certs

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// deployment is one of many, with a pod that does not reload.
type deployment struct {
	secret    *corev1.Secret
	trusted   Registration
	serves    string    // the fingerprint of a certificate
	restarted time.Time // when its pods were told to; zero when they serve what they are given
	looksAt   time.Time
	restarts  int
	done      bool
}

// Two hundred certificates that are due at one moment, because nobody looked for long,
// are replaced a few at a time, and so are the pods that do not reload.
func TestManyAreDueAtOneMoment(t *testing.T) {
	const many = 200
	p := DefaultPolicy()
	p.Grace = 10 * time.Second
	now := after(80 * day)
	random := dice{1}
	all := make([]*deployment, many)
	for i := range all {
		g := minted(t, 1, start)
		all[i] = &deployment{secret: holding(t, g).Secret, trusted: trusting(g), serves: hexSHA256(parse(g.Certificate)[0].Raw), looksAt: now}
	}
	most, mostRestarts, began := 0, 0, now
	for done := 0; done < many; now = now.Add(2 * time.Second) {
		if now.Sub(began) > 2*time.Hour {
			t.Fatal("not all are replaced within two hours")
		}
		others := count(all, func(d *deployment) bool { return UnderWay(d.secret, now) })
		first := random.below(many)
		for k := range many {
			others += all[(first+k)%many].look(t, p, now, others)
		}
		most = max(most, others)
		mostRestarts = max(mostRestarts, count(all, func(d *deployment) bool { return !d.restarted.IsZero() }))
		done = count(all, func(d *deployment) bool { return d.done })
	}
	t.Logf("%d certificates were replaced within %s, at most %d at once, and at most %d Deployments restarted at once", many, now.Sub(began), most, mostRestarts)
	if most > p.Parallel || mostRestarts > p.Parallel || mostRestarts == 0 {
		t.Errorf("%d at once, and %d restarts, want at most %d", most, mostRestarts, p.Parallel)
	}
	for i, d := range all {
		if d.restarts != 1 {
			t.Errorf("deployment %d was restarted %d times, want once", i, d.restarts)
		}
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
	if now.Before(d.looksAt) || d.done {
		return 0
	}
	if !d.restarted.IsZero() && now.Sub(d.restarted) > 10*time.Second {
		d.serves, d.restarted = hexSHA256(parse(d.secret.Data[corev1.TLSCertKey])[0].Raw), time.Time{}
	}
	if UnderWay(d.secret, now) {
		others--
		more--
	}
	decision := d.decide(t, p, now, others)
	if decision.Write != nil {
		d.secret = decision.Write
	}
	if UnderWay(d.secret, now) {
		more++
	}
	if decision.Restart && d.restarted.IsZero() {
		d.restarted = now
		d.restarts++
	}
	if string(d.trusted.CABundle) != string(decision.Trust) {
		d.trusted = Registration{Name: d.trusted.Name, Version: fmt.Sprint(now), CABundle: decision.Trust}
	}
	d.looksAt = decision.Again
	d.done = decision.Phase == managerv1alpha1.CertificateStable && decision.Serving.Number == 2
	return more
}

func (d *deployment) decide(t *testing.T, p Policy, now time.Time, others int) Decision {
	f := Facts{Secret: d.secret, Registered: []Registration{d.trusted}, Names: names, Running: true, Live: true, Rotating: &others}
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
