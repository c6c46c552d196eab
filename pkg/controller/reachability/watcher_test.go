package reachability

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// watched is a Watcher of one API server, and of the operators shop.v1 and bank.v1, whose webhooks are registered.
type watched struct {
	Watcher
	failed  int // calls of the webhook of shop.v1, of 100
	asked   int
	now     time.Time
	changed []string
}

func newWatched(t *testing.T) *watched {
	w := &watched{now: time.Unix(1e9, 0)}
	server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, _ *http.Request) {
		w.asked++
		_, _ = fmt.Fprintf(to, "process_start_time_seconds 7\napiserver_admission_webhook_fail_open_count{name=\"v.shop\",type=\"validating\"} %d\n", w.failed)
	}))
	t.Cleanup(server.Close)
	rollouts := []*managerv1alpha1.WebhookRollout{rollout("shop"), rollout("bank")}
	log, _ := test.NewNullLogger()
	w.Watcher = Watcher{
		Set: clients.Set{Kube: fake.NewClientset(configuration("a"))}, Interval: time.Minute,
		APIServers: func(context.Context) prober.Servers {
			return prober.Servers{Each: map[string]*rest.Config{"192.0.2.1:6443": {Host: server.URL}}}
		},
		Rollouts: func() []*managerv1alpha1.WebhookRollout { return rollouts },
		Record:   &records.Calls{}, Now: func() time.Time { return w.now }, Log: log.WithField("test", t.Name()),
		Changed: func(k queue.Key) { w.changed = append(w.changed, k.Name) },
	}
	return w
}

func rollout(name string) *managerv1alpha1.WebhookRollout {
	r := &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: name + ".v1"}}
	r.Status.Deployments = []managerv1alpha1.DeploymentStatus{{Webhooks: []managerv1alpha1.WebhookStatus{{
		Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v." + name, State: managerv1alpha1.WebhookRegistered,
	}}}}
	return r
}

func configuration(name string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "v.shop"}, {Name: "fail-open.v.shop"}},
	}
}

// rounds returns which ClusterServiceVersions the next round changes.
func (w *watched) rounds(t *testing.T, failed int) []string {
	t.Helper()
	w.now, w.failed, w.changed = w.now.Add(w.Interval), failed, nil
	w.round(t.Context())
	return w.changed
}

// Only a new report changes the status, and only of the operator that it is about.
func TestRoundsThatChangeTheStatus(t *testing.T) {
	w := newWatched(t)
	failing := calls.Webhook{Step: calls.Validating, Name: "v.shop"}
	installtest.Same(t, "the first round", nil, w.rounds(t, 5))
	installtest.Same(t, "known", true, w.Record.Last().Complete)
	installtest.Same(t, "a call fails", []string{"shop.v1"}, w.rounds(t, 6))
	installtest.Same(t, "the API server", "192.0.2.1:6443", w.Record.Last().Failures[failing][0].APIServer)
	installtest.Same(t, "more calls fail", nil, w.rounds(t, 9))
	_, err := w.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), configuration("b"), metav1.CreateOptions{})
	installtest.Must(t, err)
	installtest.Same(t, "another configuration has the name", []string{"shop.v1"}, w.rounds(t, 9))
	installtest.Same(t, "configurations", []string{"a", "b"}, w.Record.Last().Shared[failing])
}

// A status that an earlier manager wrote is compared once.
func TestFirstRoundAfterAnotherManager(t *testing.T) {
	w := newWatched(t)
	w.Rollouts()[1].Status.Conditions = []metav1.Condition{{Type: managerv1alpha1.ConditionCallsFail}}
	installtest.Same(t, "the first round", []string{"bank.v1"}, w.rounds(t, 0))
	installtest.Same(t, "the second round", nil, w.rounds(t, 0))
}

// API servers are not asked while no webhook is registered, or if the administrator does not want it.
func TestAPIServersAreNotAsked(t *testing.T) {
	w := newWatched(t)
	for _, r := range w.Rollouts() {
		r.Status.Deployments[0].Webhooks[0].State = managerv1alpha1.WebhookWaiting
	}
	w.rounds(t, 0)
	installtest.Same(t, "requests without a registered webhook", 0, w.asked)
	installtest.Same(t, "known", true, w.Record.Last().Complete)

	off := newWatched(t)
	off.Interval = 0
	off.Start()
	off.Run(t.Context())
	installtest.Same(t, "requests with the interval 0", 0, off.asked)
	installtest.Same(t, "known", true, off.Record.Last().Complete)
}
