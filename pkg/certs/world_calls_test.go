package certs

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// call is one that an API server makes to a pod, by what it knows of a registration.
type call struct {
	pod   *pod
	known registration
	late  time.Duration
}

// handshake is what its outcome depends on, but for the time.
type handshake struct{ certificate, bundle string }

// exemptions are the calls that may fail. At rest none may, whatever was before.
var exemptions = []struct {
	reason string
	holds  func(*world, call) bool
}{
	{
		"a kubelet was quicker than the manager and brought its pod a pair that somebody else put into the Secret: nobody could trust a CA that nobody knew of",
		func(w *world, c call) bool { return w.strangers[c.pod.loaded.certificate] },
	},
	{
		"somebody else wrote the caBundle: it counts until the manager has seen that and writes it back",
		func(_ *world, c call) bool { return c.known.edited },
	},
	{
		"the Secret was lost, and all caBundles were edited that knew its CA: nothing tells what pods serve",
		func(w *world, c call) bool { return w.forgotten[c.pod.loaded.certificate] },
	},
	{
		"an API server learns of registrations later than the settle time, which says how long it may take: no client can see what it knows",
		func(w *world, c call) bool { return c.late > w.policy.Settle },
	},
	{
		"the manager's clock was set ahead in the settle time, which is measured with it: a manager that takes over must be able to measure it, too",
		func(w *world, _ call) bool {
			return !w.jumped.IsZero() && w.now.Sub(w.jumped) <= w.policy.Settle
		},
	},
	{
		"the certificate was minted by a clock that was further ahead than the clock skew that certificates allow for",
		func(w *world, c call) bool { return w.now.Before(c.pod.loaded.notBefore) },
	},
	{
		"the manager's clock was set so far ahead that the certificate had ended by it: its CA leaves the caBundles until it is replaced",
		func(w *world, c call) bool {
			before := !c.pod.loaded.notBefore.Add(w.policy.ClockSkew).After(w.outran)
			return before && c.pod.loaded.notAfter.Before(w.outran.Add(farAhead))
		},
	},
	{
		"a manager made the registration while another one was about to write what it had decided without: no precondition is about both objects",
		func(_ *world, c call) bool { return c.known.unseen },
	},
	{
		"the CA is compromised, and whoever orders that its trust ends at once is told that calls fail to pods that do not follow yet, and of API servers that have not learnt yet: nobody ever trusts both",
		func(w *world, c call) bool { return w.compromised && !(w.follows(c.pod) && w.learnt(c.known)) },
	},
}

// follows tells whether a pod serves under the CA that the Secret has for pods.
func (w *world) follows(p *pod) bool {
	last := w.secret.last()
	return last != nil && p.loaded.ca == string(last.Data[wellknown.KeyCA])
}

// learnt tells whether what an API server knows of a registration was made for what the Secret
// has for pods.
func (w *world) learnt(known registration) bool {
	last := w.secret.last()
	return last != nil && known.Generation >= numberIn(last, wellknown.AnnotationGeneration)
}

// disowns tells whether there is an order that ends all trust in earlier CAs, and a Secret does
// not say that it was followed.
func (w *world) disowns(s *corev1.Secret) bool {
	return strings.HasPrefix(w.order, wellknown.RotateCompromised) && (s == nil || s.Annotations[wellknown.AnnotationLastRotationRequest] != w.order)
}

// call lets every API server, with what it knows of every registration, call every pod.
func (w *world) call() {
	w.Helper()
	for _, late := range w.late {
		for _, r := range w.registrations {
			known := r.asOf(w.now.Add(-late))
			if known.gone {
				continue
			}
			for _, p := range w.pods {
				if p.loaded != nil {
					w.verify(call{p, known, late})
				}
			}
		}
	}
}

// verify fails the test if the call does, and should not.
func (w *world) verify(c call) {
	w.Helper()
	shaken := handshake{c.pod.loaded.certificate, c.known.bundle}
	if w.now.Before(w.answers[shaken]) {
		return
	}
	err := verifies([]byte(shaken.certificate), []byte(shaken.bundle), w.now)
	if err == nil {
		w.answers[shaken] = c.pod.loaded.notAfter
		return
	}
	for _, e := range exemptions {
		if !w.strict && e.holds(w, c) {
			w.exempted[e.reason]++
			return
		}
	}
	w.Fatalf("%s, known %s late, does not verify %s, which serves %s: %v\n%s", c.known.Name, c.late, c.pod.name, c.pod.loaded.names, err,
		strings.Join(append(slices.Clone(w.story), w.now.Format("15:04:05.000 this call")), "\n"))
}
