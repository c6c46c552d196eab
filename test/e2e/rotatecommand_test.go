package e2e

import (
	"bytes"
	"strings"
	"testing"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
)

func orderByCommand(e *env) (generation int64) {
	e.Helper()
	term := &terminal{env: e}
	said := term.works("", "certificates", "rotate", "hook.v1", "-n", e.namespace)
	installtest.Same(e, "what a rotation prints", "rotation requested; to follow it: kubectl webhooks certificates -n "+e.namespace+"\n", said)
	const stale = "0/2 new, 2 old, 0 unknown" // until servers that do not reload have had the time to
	becomes(e, "pods serve the previous certificate", func() string { return e.certificate("hook.v1").Endpoints.String() }, stale)
	if said := term.works("", "certificates", "-n", e.namespace); !strings.Contains(said, string(managerv1alpha1.CertificatePromoting)) || !strings.Contains(said, stale) {
		e.Errorf("certificates does not report that it is Promoting, %s:\n%s", stale, said)
	}
	return 2
}

// A CA that is compromised is not trusted any more from the order on. The calls that the
// command reports fail do, until pods serve the new certificate.
func TestRotationOfACompromisedCA(t *testing.T) {
	t.Parallel()
	e := newHookEnv(t)
	compromised := caBundle(e)
	said := (&terminal{env: e}).works("", "certificates", "rotate", "hook.v1", "--compromised", "--yes", "-n", e.namespace)
	installtest.Contains(t, said, "configmaps.hook.example.com: CREATE of configmaps fails (failurePolicy Fail)")
	e.eventually("the CA is not trusted any more", func() (bool, any) {
		now := caBundle(e)
		return !bytes.Contains(now, compromised), string(now)
	})
	callsAre(e, calls.Failed)
	e.rotates("hook.v1", 2)
	e.haveFollowed(2)
	if bytes.Contains(caBundle(e), compromised) {
		t.Error("the CA is trusted again")
	}
	callsAre(e, calls.Denied)
}

func caBundle(e *env) []byte {
	e.Helper()
	return e.registration().Webhooks[0].ClientConfig.CABundle
}
