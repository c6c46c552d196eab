package certs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A rotation request for another issuer is sent to the issuer once. It is complete when the issuer
// has issued. A compromised CA is not trusted meanwhile, unless it is the issuer's own.
func TestRotationRequestsOfOtherIssuers(t *testing.T) {
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day))
	issued, replaced := second, third
	issued.Number, replaced.Number = 0, 0
	managers := secretWith(t, first)
	serving := managers.change(after(day), func(m *decider, s *corev1.Secret) {
		m.Issuer = "theirs"
		m.edit().storeNext(s, managers.assembled(issued))
	}).promoted(after(day))
	settled := serving.change(after(day), func(m *decider, s *corev1.Secret) { m.edit().endRotation(s) })
	distributing2 := settled.change(after(2*day), func(m *decider, s *corev1.Secret) { m.edit().storeNext(s, settled.assembled(replaced)) })
	evidence := &Evidence{Leaf: serving.assembled(second).leaf(), Backends: []Backend{{Pod: "a", Serves: ServesOther, Message: "pod a serves another"}}}
	facts := func(secret storedSecret, order string, issued *Generation) Facts {
		return Facts{Issuer: "theirs", Secret: secret.Secret, Registrations: []Registration{trusting(second)}, Live: true, RotationRequest: order, Issued: issued}
	}
	followed := facts(settled.with(func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotationRequest] = "a" }), "a", &issued)
	probing := facts(serving.change(after(day), func(m *decider, s *corev1.Secret) { m.edit().endPreviousTrust(s) }), "compromised a", nil)
	probing.Evidence = evidence
	for name, c := range map[string]struct {
		decision
		reissue bool
	}{
		"requested":                                              {decision{facts: facts(settled, "a", &issued), phase: stable, trust: "2"}, true},
		"requested, and reissue in progress":                     {decision{facts: facts(settled, "a", nil), phase: stable, trust: "2"}, false},
		"requested, and issued":                                  {decision{facts: facts(settled, "a", &replaced), write: "current 2, next 3", phase: distributing, trust: "3 2"}, false},
		"carried out":                                            {decision{facts: followed, phase: stable, trust: "2"}, false},
		"requested during a rotation":                            {decision{facts: facts(distributing2, "a", &replaced), phase: distributing, trust: "3 2", message: "does not trust"}, false},
		"requested without a valid pair":                         {decision{facts: facts(settled, "a", &Generation{CA: second.CA}), phase: stable, trust: "2"}, false},
		"compromised":                                            {decision{facts: facts(settled, "compromised a", &issued), phase: stable, trust: "2"}, true},
		"compromised during the promotion":                       {decision{facts: facts(serving, "compromised a", &issued), write: "current 2, promoted", phase: promoting, trust: "2"}, true},
		"compromised, probing pods":                              {decision{facts: probing, phase: promoting, trust: "2", message: "not every endpoint is seen to serve the new certificate (0/1 new, 1 old, 0 unknown): pod a serves another; calls to it fail until it does"}, false},
		"compromised during a rotation":                          {decision{facts: facts(distributing2, "compromised a", &replaced), phase: distributing, trust: "3 2", message: "the key that theirs issued last is compromised as well, and a new one is requested"}, true},
		"compromised during a rotation, and reissue in progress": {decision{facts: facts(distributing2, "compromised a", nil), write: "current 2", phase: stable, trust: "2"}, false},
		"compromised, and issued":                                {decision{facts: facts(settled, "compromised a", &replaced), write: "current 3, promoted", phase: promoting, trust: "3"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.at = after(2 * day)
			c.check(t)
			c.facts.Names = names
			if d := Decide(c.facts, DefaultPolicy(), c.at); d.Reissue != c.reissue {
				t.Errorf("it requests a reissue: %t, want %t", d.Reissue, c.reissue)
			}
		})
	}
}
