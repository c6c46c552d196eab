package integration

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var allWrites = flag.Bool("all-writes", false, "let managers and commands die at each write, one after another, and not at a few")

// strideOf is the distance between two writes at which a manager or a command dies: the given one, or 1 in make campaign
// and make crashes.
func strideOf(ordinary int) int {
	if *allWrites {
		return 1
	}
	return ordinary
}

func stride() int { return strideOf(3) }

// A manager that dies after any write (see strideOf) leaves what another one takes to the same end. It never
// learns of that write; one that dies before the next leaves the same.
func TestCrash(t *testing.T) {
	for name, scenario := range map[string]scenario{
		"install": {
			prepare: func(*env) {},
			act:     func(e *env) { e.create(bundle()) },
			ended:   func(e *env) bool { return e.get("operator.v1").Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded },
			check: func(e *env) {
				isComplete(e, installed)
				e.uninstall("operator.v1")
				leavesNothing(e)
			},
		},
		"a lost certificate": {
			prepare: func(e *env) { e.install(bundle()) },
			act: func(e *env) {
				e.must(e.kube.CoreV1().Secrets(e.namespace).Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
			},
			ended: func(e *env) bool {
				return rotated(e) && e.get("operator.v1").Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded
			},
			check: func(e *env) {
				mustTrust(e, e.servingCA())
			},
		},
		"uninstall": {
			prepare: func(e *env) { e.install(bundle()) },
			act: func(e *env) {
				e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
			},
			ended: func(e *env) bool {
				_, err := e.olm.ClusterServiceVersions(e.namespace).Get(e.ctx, "operator.v1", metav1.GetOptions{})
				return apierrors.IsNotFound(err)
			},
			check: func(e *env) { leavesNothing(e) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writes := scenario.writes(t)
			for n := 1; n <= len(writes); n += stride() {
				t.Run(fmt.Sprintf("answer %d lost", n), func(t *testing.T) {
					t.Log(writes[n-1])
					scenario.crash(newParallelEnv(t), n)
				})
			}
		})
	}
}

type scenario struct {
	everywhere          bool       // the group is for all namespaces, not only for that of the test
	exists              func(*env) // before there is a manager; nil for nothing
	prepare, act, check func(*env)
	ended               func(*env) bool
}

func (s scenario) writes(t *testing.T) []string {
	t.Helper()
	e := newEnv(t)
	proxy := proxy(e, nil)
	s.begin(e, proxy)
	e.eventually("it ends", func() (bool, any) { return s.ended(e), nil })
	return proxy.Writes()
}

// begin lets a manager behind a proxy do it. It writes from one worker, so that its writes have an order.
func (s scenario) begin(e *env, proxy *kube.Proxy) *manager {
	e.Helper()
	group := namespaces(e.namespace)
	if s.everywhere {
		group = allNamespaces
	}
	operating(e, group)
	if s.exists != nil {
		s.exists(e)
	}
	prepared := e.manage()
	s.prepare(e)
	prepared.stop()
	m := manageThrough(e, proxy.Config(), func(o *controller.Options) { o.Workers = 1 })
	s.act(e)
	return m
}

func (s scenario) crash(e *env, n int) {
	e.Helper()
	dead := make(chan struct{})
	die := sync.OnceFunc(func() { close(dead) })
	first := s.begin(e, proxy(e, func(i int, _ *http.Request) kube.Verdict {
		switch {
		case i < n:
			return kube.Pass
		case i == n:
			die()
			return kube.DropAfter
		default:
			return kube.DropBefore
		}
	}))
	e.eventually("the manager dies, or ends", func() (bool, any) {
		select {
		case <-dead:
			return true, nil
		default:
			return s.ended(e), nil
		}
	})
	first.stop()
	e.manage()
	e.eventually("another manager ends", func() (bool, any) { return s.ended(e), nil })
	s.check(e)
}

// leavesNothing fails when there is anything that no garbage collector would remove.
func leavesNothing(e *env) {
	e.Helper()
	none(e, "objects left behind", append(e.owned(clusterScoped), e.owned(outside[:2])...))
	for _, o := range e.owned(derived) {
		if owners := o.GetOwnerReferences(); o.GetNamespace() != "" && (len(owners) != 1 || owners[0].Kind != operatorsv1alpha1.ClusterServiceVersionKind) {
			e.Errorf("%s %s is owned by %+v: no garbage collector would remove it", o.GetKind(), o.GetName(), owners)
		}
	}
}

func rotated(e *env) bool {
	e.Helper()
	ca := e.servingCA()
	live, registered := registered(e)["v.example.com"]
	return len(ca) > 0 && registered && bytes.Equal(live.Webhooks[0].ClientConfig.CABundle, ca) &&
		e.rollout("operator.v1").Deployments[0].Certificate.Phase == managerv1alpha1.CertificateStable
}

// A manager that dies after any write (see strideOf) of a rotation leaves the rest to the next one. What pods serve is
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
		successor := p.manage(graceOf(time.Hour))
		p.eventually("another manager ends: "+order, func() (bool, any) { return p.followed(order), rotation(p.env) })
		successor.stop()
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
