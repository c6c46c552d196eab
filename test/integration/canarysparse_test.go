package integration

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Of a certificate that the same CA signed as the previous one, calls through the API server report
// nothing: none is made, independent of what the manager reconciles, and the status reports what comes of it.
func TestNoCanaryWhereItsAnswerWouldNotCount(t *testing.T) {
	e := newOperatorEnv(t)
	ca := runServiceCA(e)
	var canaries atomic.Int32
	proxy := proxy(e, func(_ int, r *http.Request) kube.Verdict {
		if r.Method != http.MethodGet && r.Method != http.MethodDelete && strings.Contains(r.URL.Path, "olm-webhook-manager-canary") {
			canaries.Add(1)
		}
		return kube.Pass
	})
	p := playPod(e)
	choose(e, managerv1alpha1.ProviderServiceCA)
	m := manageThrough(e, proxy.Config(), throughAPIServer, graceOf(time.Millisecond))
	e.create(p.csv())
	awaitObject(e, e.kube.CoreV1().Secrets(e.namespace), servingSecret)
	p.start()
	endpoint(e, p.listener)
	e.succeeds("operator.v1")
	if canaries.Load() == 0 {
		t.Fatal("the API server was not asked before the webhook was registered")
	}

	ca.renew()
	e.says("because they succeed with the previous certificate as well; the previous certificate has the same CA, and is valid at most until ")
	e.says("pods that are not known to serve it are restarted from ")
	before := canaries.Load()
	m.looksAgain("operator.v1")
	same(t, "canaries that were created for nothing", canaries.Load()-before, 0)
	if c := rotation(e); c.Phase != managerv1alpha1.CertificatePromoting || restartedFor(e) != "" {
		t.Errorf("the pods are restarted for generation %q, and it is %+v", restartedFor(e), c)
	}
	leavesNoCanary(e)

	ageRotation(e, 82*24*time.Hour) // of 90 days
	e.eventually("no restart is predicted of a pod that was created since", func() (bool, any) {
		c := rotation(e)
		return c.Endpoints.String() == "0/1 new, 0 old, 1 unknown" && !strings.Contains(c.Message, "restarted"), c
	})
	m.looksAgain("operator.v1")
	same(t, "the generation that it is restarted for", restartedFor(e), "")
}
