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
	serving := managers.change(after(day), func(e editor) {
		e.Issuer = "theirs"
		e.storeNext(managers.assembled(issued))
	}).promoted(after(day))
	settled := serving.change(after(day), editor.endRotation)
	distributing2 := settled.change(after(2*day), func(e editor) { e.storeNext(settled.assembled(replaced)) })
	evidence := &Evidence{Leaf: serving.assembled(second).leaf(), Backends: []Backend{{Pod: "a", Serves: ServesOther, Message: "pod a serves another"}}}
	facts := func(secret storedSecret, order string, issued *Generation) Facts {
		return Facts{Issuer: "theirs", Secret: secret.Secret, Registrations: []Registration{trusting(second)}, Live: true, RotationRequest: order, Issued: issued}
	}
	followed := facts(settled.with(func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotationRequest] = "a" }), "a", &issued)
	probing := facts(serving.change(after(day), editor.endPreviousTrust), "compromised a", nil)
	probing.Evidence = evidence
	for name, c := range map[string]decision{
		"requested":                                              {facts: facts(settled, "a", &issued), phase: stable, trust: "2", reissues: true},
		"requested, and reissue in progress":                     {facts: facts(settled, "a", nil), phase: stable, trust: "2"},
		"requested, and issued":                                  {facts: facts(settled, "a", &replaced), write: "current 2, next 3", phase: distributing, trust: "3 2"},
		"carried out":                                            {facts: followed, phase: stable, trust: "2"},
		"requested during a rotation":                            {facts: facts(distributing2, "a", &replaced), phase: distributing, trust: "3 2", message: "does not trust"},
		"requested without a valid pair":                         {facts: facts(settled, "a", &Generation{CA: second.CA}), phase: stable, trust: "2"},
		"compromised":                                            {facts: facts(settled, "compromised a", &issued), phase: stable, trust: "2", reissues: true},
		"compromised during the promotion":                       {facts: facts(serving, "compromised a", &issued), write: "current 2, promoted", phase: promoting, trust: "2", reissues: true},
		"compromised, probing pods":                              {facts: probing, phase: promoting, trust: "2", message: "not every endpoint is seen to serve the new certificate (0/1 new, 1 old, 0 unknown): pod a serves another; calls to it fail until it does"},
		"compromised during a rotation":                          {facts: facts(distributing2, "compromised a", &replaced), phase: distributing, trust: "3 2", message: "the key that theirs issued last is compromised as well, and a new one is requested", reissues: true},
		"compromised during a rotation, and reissue in progress": {facts: facts(distributing2, "compromised a", nil), write: "current 2", phase: stable, trust: "2"},
		"compromised, and issued":                                {facts: facts(settled, "compromised a", &replaced), write: "current 3, promoted", phase: promoting, trust: "3"},
	} {
		c.at = after(2 * day)
		t.Run(name, c.check)
	}
}
