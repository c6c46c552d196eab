package integration

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Pods are given the next certificate as soon as each API server has observed that it is trusted, and not before.
func TestRotationAwaitsEachAPIServer(t *testing.T) {
	e := newOperatorEnv(t)
	another := cluster.AnotherAPIServer(t)
	runOperator(e, asks(time.Hour, prober.Servers{Each: map[string]*rest.Config{"first": cluster.Config(), "second": another.Config()}, Number: 2}))
	awaited(e, another, "second")
	propagatedBy(e, managerv1alpha1.CertificatePropagation{Method: managerv1alpha1.PropagationEachAPIServer, APIServers: 2})
}

// The same through a load balancer, which leads each connection to another API server.
func TestRotationAwaitsAPIServersBehindABalancer(t *testing.T) {
	e := newOperatorEnv(t)
	another := cluster.AnotherAPIServer(t)
	balancer := kube.Balancer(t, cluster.Config(), another.Config())
	runOperator(e, asks(time.Hour, prober.Servers{Obstacle: "they have one address", Any: balancer, Number: 2}))
	awaited(e, another, "one at "+balancer.Host)
	propagatedBy(e, managerv1alpha1.CertificatePropagation{Method: managerv1alpha1.PropagationRepeatedRequests, APIServers: 2})
}

// If an API server is not reached at its own address, all are asked at the address that leads to any of them. If this one leads
// to one API server only, the settle time passes.
func TestRotationWithAnAPIServerThatIsNotReached(t *testing.T) {
	e := newOperatorEnv(t)
	nowhere := cluster.Config()
	nowhere.Host = "https://127.0.0.1:1"
	runOperator(e, asks(time.Second, prober.Servers{
		Each: map[string]*rest.Config{"first": cluster.Config(), "second": nowhere}, Any: kube.Balancer(t, cluster.Config()), Number: 2,
	}))
	e.order("once")
	rotates(e, 2)
	var seen managerv1alpha1.CertificatePropagation
	e.eventually("the status reports how API servers were asked", func() (bool, any) {
		reported := rotation(e).Propagation
		if reported != nil {
			seen = *reported
		}
		return reported != nil, reported
	})
	for _, text := range []string{"the API server at second cannot be asked", "one of them answered 28 of 28 requests"} {
		if !strings.Contains(seen.Reason, text) {
			t.Errorf("the reason %q does not contain %q", seen.Reason, text)
		}
	}
	seen.Reason = ""
	same(t, "how API servers were asked", seen, managerv1alpha1.CertificatePropagation{Method: managerv1alpha1.PropagationSettleTime, APIServers: 2, NotReached: []string{"second"}})
}

// A manager that dies while a marker exists leaves it to the next one, which removes it and ends the rotation.
func TestMarkerOfAManagerThatDied(t *testing.T) {
	e := newOperatorEnv(t)
	runOperator(e).stop()
	toOne := asks(time.Hour, prober.Servers{Each: map[string]*rest.Config{"only": cluster.Config()}, Number: 1})
	var dead atomic.Bool
	second := manageThrough(e, proxy(e, func(_ int, r *http.Request) kube.Verdict {
		if dead.Load() || r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/validatingwebhookconfigurations/") {
			dead.Store(true)
			return kube.DropBefore
		}
		return kube.Pass
	}).Config(), toOne)
	e.order("once")
	becomes(e, "the manager dies before it deletes the marker", dead.Load, true)
	second.stop()
	same(t, "the number of markers", len(markersIn(e)), 1)

	third := e.manage(toOne)
	becomes(e, "the number of markers", func() int { return len(markersIn(e)) }, 0)
	propagatedBy(e, managerv1alpha1.CertificatePropagation{Method: managerv1alpha1.PropagationEachAPIServer, APIServers: 1})
	third.settles("operator.v1")
}

// The API server creates a marker, and its answer is lost. The marker is removed all the same, before the operator is.
func TestMarkerWhoseCreationHasNoAnswer(t *testing.T) {
	e := newOperatorEnv(t)
	runOperator(e).stop()
	var lost atomic.Int32
	manageThrough(e, proxy(e, func(_ int, r *http.Request) kube.Verdict {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/validatingwebhookconfigurations") && lost.Add(1) == 1 {
			return kube.DropAfter
		}
		return kube.Pass
	}).Config(), settling(time.Millisecond), asks(0, prober.Servers{Each: map[string]*rest.Config{"only": cluster.Config()}, Number: 1}))
	e.uninstall("operator.v1")
	same(t, "a marker was created", lost.Load() > 0, true)
	leavesNothing(e)
}

// asks sets the settle time and the API servers.
func asks(settle time.Duration, servers prober.Servers) func(*controller.Options) {
	return func(o *controller.Options) {
		o.Certificates.Settle = settle
		o.APIServers = func(context.Context) prober.Servers { return servers }
	}
}

// awaited rotates while an API server is behind, which the status names.
func awaited(e *env, behind *kube.APIServer, name string) {
	e.Helper()
	before := string(e.servingCA())
	behind.Hold()
	e.order("once")
	e.rotationIs(managerv1alpha1.CertificateDistributing, "", "these API servers do not use the next certificate yet: "+name)
	same(e.T, "the CA that pods are given while an API server is behind", string(e.servingCA()), before)
	behind.Release()
	becomes(e, "pods are given the next certificate", func() bool { return string(e.servingCA()) != before }, true)
	becomes(e, "the number of markers", func() int { return len(markersIn(e)) }, 0)
}

func propagatedBy(e *env, want managerv1alpha1.CertificatePropagation) {
	e.Helper()
	e.eventually("the status reports how API servers were asked", func() (bool, any) {
		seen := rotation(e).Propagation
		return seen != nil && seen.Method == want.Method && seen.APIServers == want.APIServers && len(seen.NotReached) == 0 && seen.Reason == "", seen
	})
}

// markersIn returns the canaries of the namespace.
func markersIn(e *env) []string {
	e.Helper()
	list := kube.List(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), metav1.ListOptions{LabelSelector: wellknown.LabelCanary + "," + wellknown.LabelOwnerNamespace + "=" + e.namespace})
	return lists.Map(list.Items, func(c admissionregistrationv1.ValidatingWebhookConfiguration) string { return c.Name })
}
