package integration

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A manager that dies after any write (see stride) of a rotation leaves the rest to the next one. What pods serve is
// trusted all the time, and at most one certificate is minted in vain.
func TestCrashDuringRotation(t *testing.T) {
	e := newOperatorEnv(t)
	p, m := runPod(e)
	m.stop()
	first, trust := e.servingCA(), watchTrust(e)
	n := 1
	for p.rotatesDespite(fmt.Sprintf("answer %d lost", n), n) {
		n += stride()
	}
	const fewest = 8 // the Secret four times, and the two registrations twice each
	if n <= fewest {
		t.Errorf("managers died at up to %d writes, and a rotation takes more than %d: this shows nothing", n-stride(), fewest)
	}
	trust.neverWithout(first, e.servingCA())
	trust.trustsAllServed(p)
}

// rotatesDespite orders a rotation, kills the manager that follows the order after its nth write,
// and lets another one continue. It reports whether the manager died: a rotation has an end.
func (p *playedPod) rotatesDespite(order string, n int) (died bool) {
	p.Helper()
	before := generation(p.env)
	dead := make(chan struct{})
	die := sync.OnceFunc(func() { close(dead) })
	mortal := manageThrough(p.env, proxy(p.env, func(i int, _ *http.Request) kube.Verdict {
		if i < n {
			return kube.Pass
		}
		die()
		if i == n {
			return kube.DropAfter
		}
		return kube.DropBefore
	}).Config(), graceOf(time.Hour), func(o *controller.Options) { o.Workers = 1 })
	p.order(order)
	p.eventually("the manager dies, or ends: "+order, func() (bool, any) {
		select {
		case <-dead:
			died = true
			return true, nil
		default:
			return p.followed(order), rotation(p.env)
		}
	})
	mortal.stop()
	if died {
		heir := p.manage(graceOf(time.Hour))
		p.eventually("another manager ends: "+order, func() (bool, any) { return p.followed(order), rotation(p.env) })
		heir.stop()
	}
	if minted := generation(p.env) - before; minted < 1 || minted > 2 {
		p.Errorf("%s: %d generations were minted for one order", order, minted)
	}
	return died
}

// followed lets the pod serve the new certificate, and reports whether the order is completed.
func (p *playedPod) followed(order string) bool {
	p.Helper()
	if p.follow() {
		touch(p.env, "operator.v1") // the manager need not wait to reconcile again
	}
	return certificate(p.env).Annotations[wellknown.AnnotationLastRotationRequest] == order && storedPhase(p.env) == managerv1alpha1.CertificateStable && rotated(p.env)
}

func generation(e *env) int {
	e.Helper()
	n, err := strconv.Atoi(certificate(e).Annotations[wellknown.AnnotationGeneration])
	e.must(err)
	return n
}
