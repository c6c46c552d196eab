package certs

import (
	"crypto/x509"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Facts is what the cluster holds about one Deployment's serving certificate.
type Facts struct {
	// Secret has the name of the Deployment's serving certificate; nil when there is none.
	Secret *corev1.Secret
	// Registered has the caBundle of each registration that the Deployment backs. An
	// empty caBundle counts: the webhook is called, whoever emptied it.
	Registered [][]byte
	// Names are the DNS names that the leaf must carry.
	Names []string
}

// Decision is what Facts amount to at an instant.
type Decision struct {
	// Phase is where the certificate stands in its life.
	Phase managerv1alpha1.CertificatePhase
	// Serving is the generation in the Secret; nil when it cannot be served.
	Serving *Serving
	// Trust is the caBundle for registrations, given what is in the Secret now;
	// nil when there is nothing to trust. When there is something to mint, publish
	// Generation.Trust instead, which adds the new CA to it.
	Trust []byte
	// Mint is what to mint now; nil for nothing.
	Mint *Request
	// Problem is why the Secret cannot be used and what comes of it, in a sentence
	// for a cluster administrator. Empty when it can, or when it was never needed.
	Problem string
	// Next is the earliest instant at which the answer changes by itself; zero for never.
	Next time.Time
}

// Serving is a generation that pods can serve and API servers can verify.
type Serving struct {
	// Number counts generations from 1. It is 0 for a certificate of OLM's.
	Number int64
	// CA is the certificate of the CA, PEM.
	CA []byte
	// CAHash is the hex SHA-256 of CA, the value of the annotation olmcahash.
	CAHash string
	// CAFingerprint is the hex SHA-256 of the CA's DER form.
	CAFingerprint string
	// NotAfter is when the leaf or its CA ends, whichever is first.
	NotAfter time.Time
}

// Decide says what the facts amount to.
//
// The trust is that of the Secret. What is registered is believed only while the
// Secret cannot tell which CA the pods serve: a caBundle edited by hand beside an
// intact Secret is not adopted, and so gets reverted.
func Decide(f Facts, p Policy, now time.Time) Decision {
	var registered []*x509.Certificate
	for _, bundle := range f.Registered {
		registered = append(registered, parse(bundle)...)
	}
	if problem := foreign(f.Secret); problem != "" {
		return keepHandsOff(registered, problem, now)
	}

	h := read(f.Secret, f.Names, now)
	known := h.authorities
	if h.spoiled {
		known = append(known, newestFirst(registered)...)
	}
	trusted := trustworthy(known, now)
	d := Decision{
		Phase:   managerv1alpha1.CertificateStable,
		Serving: h.serving,
		Trust:   encode(trusted...),
		Problem: h.problem,
		Next:    nextTurn(h.turns, trusted, now),
	}
	if h.serving != nil && now.Before(h.renew) {
		return d
	}

	// Numbers go on from whatever is registered, adopted or not: a lower generation
	// is never written over a higher one.
	d.Mint = p.request(1+max(h.number, highestNumber(registered)), f.Names, now)
	d.Phase = managerv1alpha1.CertificateRecovering
	if len(f.Registered) == 0 {
		d.Phase = managerv1alpha1.CertificateBootstrap
		if f.Secret == nil {
			d.Problem = "" // A first certificate is no loss.
		}
	}
	return d
}

// keepHandsOff is the decision about somebody else's Secret: nothing is minted, and
// what is registered keeps the trust that it has.
func keepHandsOff(registered []*x509.Certificate, problem string, now time.Time) Decision {
	trusted := trustworthy(newestFirst(registered), now)
	return Decision{
		Phase:   managerv1alpha1.CertificateBootstrap,
		Trust:   encode(trusted...),
		Problem: problem,
		Next:    nextTurn(nil, trusted, now),
	}
}

// nextTurn is the first instant after now at which the Secret is judged otherwise
// or a trusted CA ends.
func nextTurn(turns []time.Time, trusted []*x509.Certificate, now time.Time) time.Time {
	var next time.Time
	consider := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, t := range turns {
		consider(t)
	}
	for _, ca := range trusted {
		consider(ca.NotAfter)
	}
	return next
}
