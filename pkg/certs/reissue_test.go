package certs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A rotation that is ordered of another issuer is asked of it once, and is followed when it
// has issued; a compromised CA is not trusted meanwhile, unless it is the issuer's own.
func TestOrdersOfOtherIssuers(t *testing.T) {
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day))
	issued, anew := second, third
	issued.Number, anew.Number = 0, 0
	ours := holding(t, first)
	serving := ours.change(after(day), func(m *decider, s *corev1.Secret) {
		m.Issuer = "theirs"
		m.edit().storeNext(s, ours.assembled(issued))
	}).promoted(after(day))
	settled := serving.change(after(day), func(m *decider, s *corev1.Secret) { m.edit().forgetPrevious(s) })
	distributing2 := settled.change(after(2*day), func(m *decider, s *corev1.Secret) { m.edit().storeNext(s, settled.assembled(anew)) })
	evidence := &Evidence{Leaf: serving.assembled(second).leaf(), Backends: []Backend{{Pod: "a", Serves: ServesOther, Message: "pod a serves another"}}}
	facts := func(secret built, order string, issued *Generation) Facts {
		return Facts{Issuer: "theirs", Secret: secret.Secret, Registrations: []Registration{trusting(second)}, Live: true, RotationRequest: order, Issued: issued}
	}
	followed := facts(settled.with(func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotationRequest] = "a" }), "a", &issued)
	proving := facts(serving.change(after(day), func(m *decider, s *corev1.Secret) { m.edit().dropPrevious(s) }), "compromised a", nil)
	proving.Evidence = evidence
	for name, c := range map[string]struct {
		decision
		reissue bool
	}{
		"ordered":                      {decision{facts: facts(settled, "a", &issued), phase: stable, trust: "2"}, true},
		"ordered, and asked":           {decision{facts: facts(settled, "a", nil), phase: stable, trust: "2"}, false},
		"ordered, and issued":          {decision{facts: facts(settled, "a", &anew), write: "current 2, next 3", phase: distributing, trust: "3 2"}, false},
		"ordered, and followed":        {decision{facts: followed, phase: stable, trust: "2"}, false},
		"ordered in the middle":        {decision{facts: facts(distributing2, "a", &anew), phase: distributing, trust: "3 2", says: "does not trust"}, false},
		"ordered of what is no pair":   {decision{facts: facts(settled, "a", &Generation{CA: second.CA}), phase: stable, trust: "2"}, false},
		"compromised":                  {decision{facts: facts(settled, "compromised a", &issued), phase: stable, trust: "2"}, true},
		"compromised while pods prove": {decision{facts: facts(serving, "compromised a", &issued), write: "current 2, promoted", phase: promoting, trust: "2"}, true},
		"compromised, pods are proved": {decision{facts: proving, phase: promoting, trust: "2", says: "not every endpoint is seen to serve the new certificate (0/1 new, 1 old, 0 unknown): pod a serves another; calls to it fail until it does"}, false},
		"compromised in the middle":    {decision{facts: facts(distributing2, "compromised a", &anew), phase: distributing, trust: "3 2", says: "the key that theirs issued last is compromised as well, and a new one is requested"}, true},
		"compromised there, and asked": {decision{facts: facts(distributing2, "compromised a", nil), write: "current 2", phase: stable, trust: "2"}, false},
		"compromised, and issued":      {decision{facts: facts(settled, "compromised a", &anew), write: "current 3, promoted", phase: promoting, trust: "3"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.at = after(2 * day)
			c.check(t)
			c.facts.Names = names
			if d := Decide(c.facts, DefaultPolicy(), c.at); d.Reissue != c.reissue {
				t.Errorf("it asks the issuer: %t, want %t", d.Reissue, c.reissue)
			}
		})
	}
}
