package integration

import (
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// A pod that comes while others take the next certificate up may have mounted the previous one: that
// stays trusted until it has shown what it serves, when all others have long served the new certificate.
func TestScaleUpWhilePodsTakeItUp(t *testing.T) {
	e := newOperatorEnv(t)
	p, m := runPod(e, graceOf(time.Hour))
	before, trust := e.servingCA(), watchTrust(e)
	waitsFor := func(endpoints, why string) {
		t.Helper()
		e.rotationIs(managerv1alpha1.CertificatePromoting, endpoints, why)
	}
	e.order("once")
	waitsFor("0/1 new, 1 old, 0 unknown", "server-0 serves another certificate")
	came := comes(e, "server-1")
	waitsFor("0/2 new, 1 old, 1 unknown", "server-0 serves another certificate (and 1 more)")
	p.reload()
	waitsFor("1/2 new, 0 old, 1 unknown", "server-1 has no address yet")
	m.looksAgain("operator.v1")
	mustTrust(e, before, e.servingCA())
	p.runs(came)
	rotates(e, 2)
	trust.neverWithout(before, e.servingCA())
}
