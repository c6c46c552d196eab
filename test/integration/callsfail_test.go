package integration

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// counted is the operator operator.v1 with a webhook for the ConfigMaps of the test. Its calls are counted by API servers.
type counted struct {
	*env
	*manager
	webhook string // its name, which no other test has
	servers prober.Servers

	server *http.Server

	lock sync.Mutex
	cut  string // the user whose requests are not answered, as if the route from an API server was cut
}

// newCounted reads the metrics of the API servers "first" and, if it is given, "second", with the permissions of manifests.
func newCounted(t *testing.T, more ...*rest.Config) *counted {
	t.Helper()
	e := newOperatorEnv(t)
	grant(e)
	o := &counted{env: e, webhook: "v." + e.namespace + ".example.com", servers: prober.Servers{Each: map[string]*rest.Config{"first": asAccount()}}}
	for _, config := range more {
		config.Impersonate = asAccount().Impersonate
		o.servers.Each["second"] = config
	}
	o.manager = e.manage(o.reads)
	c := csv("operator.v1", "server")
	w := &c.Spec.WebhookDefinitions[0]
	w.GenerateName = o.webhook
	w.Rules = []admissionregistrationv1.RuleWithOperations{rule([]string{""}, "configmaps")}
	w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"test": e.namespace}}
	e.install(c)
	o.serves()
	for server := range o.servers.Each {
		o.eventually("calls from "+server+" are answered", func() (bool, any) { err := o.call(server); return err == nil, err })
	}
	return o
}

func (o *counted) reads(options *controller.Options) {
	asks(time.Second, o.servers)(options)
	options.APIServerMetricsInterval = 2 * time.Second
}

// serves answers calls at an endpoint.
func (o *counted) serves() {
	o.Helper()
	listener := listen(o.env)
	o.server = &http.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{servingCertificate(o.env)}}, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := installtest.OrPanic(io.ReadAll(r.Body))
		var review admissionv1.AdmissionReview
		o.lock.Lock()
		defer o.lock.Unlock()
		if json.Unmarshal(body, &review) == nil && review.Request.UserInfo.Username == o.cut {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		refuseBad(w, r)
	})}
	go func() { _ = o.server.ServeTLS(listener, "", "") }() // It ends with the test.
	o.Cleanup(func() { _ = o.server.Close() })
	endpoint(o.env, listener)
}

// refuses ends the server, also its open connections, and leaves the endpoint.
func (o *counted) refuses() {
	o.Helper()
	o.must(o.server.Close())
}

func (o *counted) cuts(server string) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.cut = server
}

// call creates a ConfigMap with a dry run, as a user with the name of the API server.
func (o *counted) call(server string) error {
	o.Helper()
	config := rest.CopyConfig(o.servers.Each[server])
	config.Impersonate = rest.ImpersonationConfig{UserName: server, Groups: []string{"system:masters", "system:authenticated"}}
	client, err := kubernetes.NewForConfig(config)
	o.must(err)
	_, err = client.CoreV1().ConfigMaps(o.namespace).Create(o.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "good", Labels: map[string]string{"test": o.namespace},
	}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// fails calls through all API servers until the status reports from which of them calls fail.
func (o *counted) fails(from ...string) {
	o.Helper()
	o.eventually("calls fail from "+strings.Join(from, ", "), func() (bool, any) {
		for server := range o.servers.Each {
			_ = o.call(server) // The status is compared.
		}
		reported := webhookStatus(o.env, "operator.v1", o.webhook).UnreachableFrom
		same := len(reported) == len(from)
		for i := range from {
			same = same && reported[i].APIServer == from[i] && reported[i].Error == "calling_webhook_error, code 503"
		}
		return same && (o.condition() != nil) == (len(from) > 0), reported
	})
}

func (o *counted) condition() *metav1.Condition {
	o.Helper()
	return meta.FindStatusCondition(o.rollout("operator.v1").Conditions, managerv1alpha1.ConditionCallsFail)
}

// The status names the API server whose calls fail, and no other one. It is written when that changes.
func TestCallsFromOneAPIServerFail(t *testing.T) {
	another := cluster.AnotherAPIServer(t)
	o := newCounted(t, another.Config())
	o.cuts("second")
	o.fails("second")
	message := "calls of webhook " + o.webhook + " from API server second fail since "
	if c := o.condition(); c.Status != metav1.ConditionTrue || !strings.HasPrefix(c.Message, message) || !strings.Contains(c.Message, ": calling_webhook_error, code 503. Check the routes") {
		t.Errorf("the condition is %+v", c)
	}
	o.eventually("an event reports it", func() (bool, any) {
		events := o.reported()
		return strings.Contains(strings.Join(events, "\n"), "Warning CallsFail "+message), events
	})

	written := auditEnd(o.env)
	for range 3 {
		before := o.failed()
		o.eventually("more calls fail", func() (bool, any) { _ = o.call("second"); return o.failed() > before, before })
	}
	o.looksAgain("operator.v1")
	o.writesNothing(written)

	o.cuts("")
	o.fails()
}

// A webhook whose backend refuses connections is reported, also by the next manager, until its calls are answered.
func TestCallsAreRefused(t *testing.T) {
	o := newCounted(t)
	o.refuses()
	o.fails("first")
	since := webhookStatus(o.env, "operator.v1", o.webhook).UnreachableFrom[0].StartTime

	o.stop()
	o.manager = o.manage(o.reads)
	o.eventually("the next manager has read the metrics", func() (bool, any) { _ = o.call("first"); return o.failed() > 0, nil })
	o.fails("first")
	same(t, "since when calls fail", webhookStatus(o.env, "operator.v1", o.webhook).UnreachableFrom[0].StartTime, since)

	o.must(o.kube.DiscoveryV1().EndpointSlices(o.namespace).Delete(o.ctx, "server-service-server-0", metav1.DeleteOptions{}))
	o.serves()
	o.fails()
}

// API servers count two webhooks with the same name together: neither is reported as unreachable.
func TestCallsOfWebhooksWithTheSameName(t *testing.T) {
	o := newCounted(t)
	other := o.registration(o.webhook)
	other.ObjectMeta = metav1.ObjectMeta{Name: o.namespace + "-other"}
	other.Webhooks[0].ClientConfig.Service.Name = "no-service"
	kube.CreateTemporary(o.env, o.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), &other)
	o.eventually("the name is shared", func() (bool, any) {
		_ = o.call("first") // The other configuration refuses it.
		c := o.condition()
		return c != nil && c.Status == metav1.ConditionUnknown && c.Reason == managerv1alpha1.ReasonNameShared && strings.Contains(c.Message, other.Name), c
	})
	same(t, "API servers from which the webhook is not reached", len(webhookStatus(o.env, "operator.v1", o.webhook).UnreachableFrom), 0)
}

// What is not known is reported as such.
func TestMetricsOfAPIServersThatAreNotRead(t *testing.T) {
	e := newOperatorEnv(t)
	stranger := cluster.Config()
	stranger.Impersonate = rest.ImpersonationConfig{UserName: "stranger"}
	runOperator(e, func(o *controller.Options) {
		asks(time.Second, prober.Servers{Each: map[string]*rest.Config{"first": stranger}})(o)
		o.APIServerMetricsInterval = 2 * time.Second
	})
	e.eventually("the condition is Unknown", func() (bool, any) {
		c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionCallsFail)
		return c != nil && c.Status == metav1.ConditionUnknown && c.Reason == managerv1alpha1.ReasonNotObserved && strings.Contains(c.Message, "the API server at first cannot be read: 403 Forbidden"), c
	})
}

// failed returns how many calls of the webhook have failed, as the manager exports it.
func (o *counted) failed() float64 {
	return o.exported("olm_webhook_manager_webhook_failed_calls_total")
}

// exported is the sum of the series of a counter.
func (o *counted) exported(name string) (sum float64) {
	o.Helper()
	families, err := o.metrics.Gather()
	o.must(err)
	for _, family := range families {
		if family.GetName() == name {
			for _, m := range family.GetMetric() {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
