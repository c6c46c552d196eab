package certs

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// call is a call of an API server to a pod, with the registration that the API server knows.
type call struct {
	pod   *pod
	known registration
	delay time.Duration
}

// calls are the calls of API servers to pods.
type calls struct {
	*managers
	answers          map[handshake]time.Time
	otherClientCerts map[string]bool // certificates that another client wrote to the Secret
	untrackedCerts   map[string]bool // certificates whose CA is in no object
	compromised      bool            // a request that ends all trust is pending
	noExemptions     bool            // no exemption applies
	exemptedCalls    map[string]int  // number for each exemption
}

// handshake is the input that determines the result of a call, in addition to the time.
type handshake struct{ certificate, bundle string }

// exemptions are the calls that may fail. checkIdle allows none of them.
var exemptions = []struct {
	reason string
	holds  func(*calls, call) bool
}{
	{
		"a kubelet mounted a certificate that another client wrote to the Secret before the manager saw it: no registration can trust an unknown CA",
		func(sim *calls, c call) bool { return sim.otherClientCerts[c.pod.loaded.certificate] },
	},
	{
		"another client wrote the caBundle: it applies until the manager observes and reverts it",
		func(_ *calls, c call) bool { return c.known.edited },
	},
	{
		"the Secret was lost, and all caBundles with its CA were edited: no object shows which certificate pods serve",
		func(sim *calls, c call) bool { return sim.untrackedCerts[c.pod.loaded.certificate] },
	},
	{
		"an API server observes registrations later than the settle time, and the manager cannot ask API servers what they have observed",
		func(sim *calls, c call) bool { return sim.mute && c.delay > sim.policy.Settle },
	},
	{
		"the manager's clock was set ahead during the settle time, which is measured with it",
		func(sim *calls, _ call) bool {
			return !sim.clockSetAheadAt.IsZero() && sim.now.Sub(sim.clockSetAheadAt) <= sim.policy.Settle
		},
	},
	{
		"the certificate was minted by a clock that was further ahead than the clock skew that certificates allow for",
		func(sim *calls, c call) bool { return sim.now.Before(c.pod.loaded.notBefore) },
	},
	{
		"the manager's clock was set so far ahead that the certificate had expired: its CA is removed from the caBundles until it is replaced",
		func(sim *calls, c call) bool {
			before := !c.pod.loaded.notBefore.Add(sim.policy.ClockSkew).After(sim.clockBeyondExpiryAt)
			return before && c.pod.loaded.notAfter.Before(sim.clockBeyondExpiryAt.Add(farAhead))
		},
	},
	{
		"a manager created the registration while another one wrote a decision made without it: no precondition covers both objects",
		func(_ *calls, c call) bool { return c.known.concurrent },
	},
	{
		"the CA is compromised: its trust ends at once, and the documentation of the request says that calls fail until pods serve the new certificate and API servers observe the new CA",
		func(sim *calls, c call) bool {
			return sim.compromised && !(sim.servesCurrentCA(c.pod) && sim.knowsCurrentGeneration(c.known))
		},
	},
}

// servesCurrentCA reports whether a pod serves under the CA in the Secret.
func (sim *calls) servesCurrentCA(p *pod) bool {
	last := sim.secret.last()
	return last != nil && p.loaded.ca == string(last.Data[wellknown.KeyCA])
}

// knowsCurrentGeneration reports whether an API server knows a registration written for the current generation.
func (sim *calls) knowsCurrentGeneration(known registration) bool {
	last := sim.secret.last()
	return last != nil && known.Generation >= numberIn(last, wellknown.AnnotationGeneration)
}

// compromisePending reports whether a Secret does not record that a request to end the trust in earlier CAs is done.
func (sim *calls) compromisePending(s *corev1.Secret) bool {
	return strings.HasPrefix(sim.rotationRequest, wellknown.RotateCompromised) && (s == nil || s.Annotations[wellknown.AnnotationLastRotationRequest] != sim.rotationRequest)
}

// call makes every API server call every pod with every registration that it knows.
func (sim *calls) call() {
	sim.t.Helper()
	for i := range sim.delay {
		view := sim.view(i)
		for _, r := range sim.registrations {
			known := r.stateAt(view)
			if known.deleted {
				continue
			}
			for _, p := range sim.pods {
				if p.loaded != nil {
					sim.verify(call{p, known, sim.now.Sub(view)})
				}
			}
		}
	}
}

// verify fails the test if the call fails and no exemption applies.
func (sim *calls) verify(c call) {
	sim.t.Helper()
	h := handshake{c.pod.loaded.certificate, c.known.bundle}
	if sim.now.Before(sim.answers[h]) {
		return
	}
	err := verifies([]byte(h.certificate), []byte(h.bundle), sim.now)
	if err == nil {
		sim.answers[h] = c.pod.loaded.notAfter
		return
	}
	for _, e := range exemptions {
		if !sim.noExemptions && e.holds(sim, c) {
			sim.exemptedCalls[e.reason]++
			return
		}
	}
	sim.t.Fatalf("%s, known %s late, does not verify %s, which serves %s: %v\n%s", c.known.Name, c.delay, c.pod.name, c.pod.loaded.names, err,
		strings.Join(append(slices.Clone(sim.log), sim.now.Format("15:04:05.000 this call")), "\n"))
}
