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
}

// Two hundred certificates that are due at one moment, because nobody looked for long,
// are replaced a few at a time, and so are the pods that do not reload.
func TestManyAreDueAtOneMoment(t *testing.T) {
	const many = 200
	p := DefaultPolicy()
	now := after(80 * day)
	random := dice{1}
	all := make([]*deployment, many)
	for i := range all {
		g := minted(t, 1, start)
		all[i] = &deployment{secret: holding(t, g).Secret, trusted: trusting(g), serves: hexSHA256(parse(g.Certificate)[0].Raw), looksAt: now}
	}
	most, mostRestarts, began := 0, 0, now
	for ; ; now = now.Add(2 * time.Second) {
		if now.Sub(began) > 2*time.Hour {
			t.Fatal("not all are replaced within two hours")
		}
		others := underWay(all, now)
		first := random.below(many)
		for k := range many {
			i := (first + k) % many
			before := UnderWay(all[i].secret, now)
			all[i].look(t, p, now, others)
			switch after := UnderWay(all[i].secret, now); {
			case after && !before:
				others++
			case before && !after:
				others--
			}
		}
		restarting, done := 0, 0
		for _, d := range all {
			if !d.restarted.IsZero() {
				restarting++
			}
			if d.trusted.Version == "done" {
				done++
			}
		}
		most, mostRestarts = max(most, underWay(all, now)), max(mostRestarts, restarting)
		if done == many {
			break
		}
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

func underWay(all []*deployment, now time.Time) int {
	n := 0
	for _, d := range all {
		if UnderWay(d.secret, now) {
			n++
		}
	}
	return n
}

// look is a pass of a manager, when it is time for one.
func (d *deployment) look(t *testing.T, p Policy, now time.Time, others int) {
	if now.Before(d.looksAt) || d.trusted.Version == "done" {
		return
	}
	if !d.restarted.IsZero() && now.Sub(d.restarted) > 10*time.Second {
		d.serves, d.restarted = hexSHA256(parse(d.secret.Data[corev1.TLSCertKey])[0].Raw), time.Time{}
	}
	f := Facts{Secret: d.secret, Registered: []Registration{d.trusted}, Names: names, Running: true, Live: true, Rotating: &others}
	if UnderWay(d.secret, now) {
		*f.Rotating--
	}
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
	if decision.Write != nil {
		d.secret = decision.Write
	}
	if decision.Restart && d.restarted.IsZero() {
		d.restarted = now
		d.restarts++
	}
	if string(d.trusted.CABundle) != string(decision.Trust) {
		d.trusted = Registration{Name: d.trusted.Name, Version: fmt.Sprint(now), CABundle: decision.Trust}
	}
	d.looksAt = decision.Again
	if decision.Phase == managerv1alpha1.CertificateStable && decision.Serving.Number == 2 {
		d.trusted.Version = "done"
	}
}
