package integration

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// waiting is how many ClusterServiceVersions ask what the API server does not answer: more than the
// workers of a manager.
const waiting = 40

// An unanswered question delays no operator in another namespace. One that needs the answer continues when it comes.
func TestUnansweredDiscovery(t *testing.T) {
	for name, test := range map[string]struct {
		path    func(group string) string
		ask     func(c *operatorsv1alpha1.ClusterServiceVersion, group string)
		message string // of the ones that need the answer
	}{
		"a native API": {
			func(group string) string { return "/apis/" + group + "/v1" },
			func(c *operatorsv1alpha1.ClusterServiceVersion, group string) {
				c.Spec.NativeAPIs = []metav1.GroupVersionKind{{Group: group, Version: "v1", Kind: "Pond"}}
			},
			"the API server has not answered which kinds it serves",
		},
		"a required APIService": {
			func(group string) string { return "/apis/" + group + "/v1" },
			func(c *operatorsv1alpha1.ClusterServiceVersion, group string) {
				c.Spec.APIServiceDefinitions.Required = []operatorsv1alpha1.APIServiceDescription{{Group: group, Version: "v1", Kind: "Pond"}}
			},
			"the API server has not answered which kinds it serves",
		},
		"the version of Kubernetes": {
			func(string) string { return "/version" },
			func(c *operatorsv1alpha1.ClusterServiceVersion, _ string) { c.Spec.MinKubeVersion = "1.20.0" },
			"the API server has not answered which version it is",
		},
		"the resources of a rule": {
			func(string) string { return "/apis/apps/v1" },
			func(c *operatorsv1alpha1.ClusterServiceVersion, _ string) {
				c.Spec.WebhookDefinitions[0].Rules = []admissionregistrationv1.RuleWithOperations{rule([]string{"apps"}, "things")}
			},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			group := e.namespace + ".example.com"
			define(e, group, "v1")
			serves(e, group+"/v1", "Pond")
			e.group("og", allNamespaces)
			other := neighbour(e)
			other.group("og", namespaces(other.namespace))
			other.runDeployments()
			unanswered := &heldPath{path: test.path(group), asked: make(chan struct{}, 1), released: make(chan struct{})}
			release := sync.OnceFunc(func() { close(unanswered.released) })
			config := cluster.Config()
			config.WrapTransport = unanswered.wrap
			manageThrough(e, config, func(o *controller.Options) {
				o.Workers, o.Namespaces = 32, append(o.Namespaces, other.namespace)
			})
			t.Cleanup(release) // before the manager finishes what waits
			for i := range waiting {
				c := csv(fmt.Sprintf("asking-%d.v1", i), fmt.Sprintf("server-%d", i))
				c.Spec.WebhookDefinitions[0].GenerateName = fmt.Sprintf("v%d.example.com", i)
				test.ask(c, group)
				e.create(c)
			}
			<-unanswered.asked
			other.create(csv("operator.v1", "server"))
			other.succeeds("operator.v1")
			allReach(e, "report what was not answered", func(c operatorsv1alpha1.ClusterServiceVersion) bool {
				return test.message == "" || strings.Contains(fmt.Sprint(c.Status.RequirementStatus), test.message)
			})
			release()
			allReach(e, "continue", func(c operatorsv1alpha1.ClusterServiceVersion) bool {
				return c.Status.Phase == operatorsv1alpha1.CSVPhaseInstalling
			})
			same(t, "the most questions at once", unanswered.count(0), 1)
		})
	}
}

func allReach(e *env, what string, reached func(operatorsv1alpha1.ClusterServiceVersion) bool) {
	e.Helper()
	e.eventually("all "+what, func() (bool, any) {
		list := kube.List(e, e.olm.ClusterServiceVersions(e.namespace), metav1.ListOptions{})
		for _, c := range list.Items {
			if !reached(c) {
				return false, c.Status
			}
		}
		return len(list.Items) == waiting, len(list.Items)
	})
}

// heldPath stands before the API server, and passes requests to one path on when it is released.
type heldPath struct {
	path     string
	asked    chan struct{} // something was asked
	released chan struct{}

	mutex     sync.Mutex
	now, most int // requests that are held, and the most at once
}

func (h *heldPath) wrap(next http.RoundTripper) http.RoundTripper {
	return &heldRoundTripper{heldPath: h, next: next}
}

type heldRoundTripper struct {
	*heldPath
	next http.RoundTripper
}

func (h *heldRoundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == h.path {
		if err := h.hold(r); err != nil {
			return nil, err
		}
	}
	return h.next.RoundTrip(r)
}

func (h *heldPath) hold(r *http.Request) error {
	h.count(1)
	defer h.count(-1)
	select {
	case h.asked <- struct{}{}:
	default:
	}
	select {
	case <-r.Context().Done():
		return r.Context().Err()
	case <-h.released:
		return nil
	}
}

func (h *heldPath) count(more int) int {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.now += more
	h.most = max(h.most, h.now)
	return h.most
}

// A failed read is neither an object that exists nor one that does not: the reconciliation ends, another begins later.
func TestReadsThatFail(t *testing.T) {
	for resource, test := range map[string]struct{ before, asks, after func(*env) }{
		"services": {
			before: func(e *env) { authorsService(e, "server-service") },
			asks:   func(e *env) { e.create(csv("operator.v1", "server")) },
			after:  func(e *env) { e.succeeds("operator.v1") },
		},
		"secrets":                         {anOperator, asksForARotation, endsTheRotation},
		"validatingwebhookconfigurations": {anOperator, asksForARotation, endsTheRotation},
	} {
		t.Run(resource, func(t *testing.T) {
			e := newOperatorEnv(t)
			var down atomic.Bool
			var failed atomic.Int32
			config := cluster.Config()
			config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if down.Load() && ofThePass(r, resource) {
						failed.Add(1)
						return nil, errors.New("the network is down")
					}
					return rt.RoundTrip(r)
				})
			})
			m := manageThrough(e, config)
			test.before(e)
			down.Store(true)
			test.asks(e)
			e.eventually("a read fails", func() (bool, any) { return failed.Load() > 0, nil })
			before := m.passes("ClusterServiceVersion")
			e.eventually("the manager tries again", func() (bool, any) { return m.passes("ClusterServiceVersion") > before+1, failed.Load() })
			down.Store(false)
			test.after(e)
		})
	}
}

func anOperator(e *env)       { e.install(csv("operator.v1", "server")) }
func asksForARotation(e *env) { e.order("once") }
func endsTheRotation(e *env)  { rotates(e, 2) }

// ofThePass separates the reads of a reconciliation from those of caches: it reads one object, or all of one owner.
func ofThePass(r *http.Request, resource string) bool {
	one := strings.Contains(r.URL.Path, "/"+resource+"/")
	ofOneOwner := strings.HasSuffix(r.URL.Path, "/"+resource) && strings.Contains(r.URL.Query().Get("labelSelector"), wellknown.LabelOwnerNamespace+"=")
	return r.Method == http.MethodGet && (one || ofOneOwner)
}
