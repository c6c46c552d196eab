package integration

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const (
	closed = managerv1alpha1.FailOpenClosed
	partly = managerv1alpha1.FailOpenPartly
	all    = managerv1alpha1.FailOpenAll
)

// shortly divides the durations of the annotations by 30: 30s are a second. The API server proves that a backend serves.
func shortly(o *controller.Options) {
	throughAPIServer(o)
	o.Rollout.FailOpenDivisor = 30
}

// backend is the server of a webhook for the ConfigMaps with the label of the test. It refuses those with the name bad.
type backend struct {
	*env
	*manager
	listener net.Listener
	other    string // another namespace
	down     atomic.Bool
	attacked bool
}

// newBackend runs the operator operator.v1, whose webhook is registered and serves.
func newBackend(t *testing.T, settings map[string]string, change ...func(*operatorsv1alpha1.ClusterServiceVersion)) *backend {
	t.Helper()
	return newBackendIn(newOperatorEnv(t), settings, change...)
}

func newBackendIn(e *env, settings map[string]string, change ...func(*operatorsv1alpha1.ClusterServiceVersion)) *backend {
	e.Helper()
	b := &backend{env: e, listener: listen(e)}
	b.other = newNamespace(e, e.namespace+"-", nil)
	if settings != nil {
		subscribe(e, &operatorsv1alpha1.SubscriptionConfig{Annotations: withPrefix(settings)})
	}
	b.manager = e.manage(shortly)
	c := csv("operator.v1", "server")
	w := &c.Spec.WebhookDefinitions[0]
	w.Rules = []admissionregistrationv1.RuleWithOperations{rule([]string{""}, "configmaps")}
	w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"test": e.namespace}}
	for _, f := range change {
		f(c)
	}
	e.create(c)
	e.eventually("there is a Deployment", func() (bool, any) { return e.deployment("server") != nil, nil })
	answer(e, b.listener, servingCertificate(e), b.serve)
	b.comes()
	e.succeeds("operator.v1")
	return b
}

func withPrefix(settings map[string]string) map[string]string {
	all := map[string]string{}
	for name, value := range settings {
		all[wellknown.AnnotationPrefix+name] = value
	}
	return all
}

// serve ends the connections that API servers keep open while the backend is down.
func (b *backend) serve(w http.ResponseWriter, r *http.Request) {
	if b.down.Load() {
		panic(http.ErrAbortHandler)
	}
	refuseBad(w, r)
}

func refuseBad(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if r.URL.Path != "/validate" || json.NewDecoder(r.Body).Decode(&review) != nil || review.Request == nil {
		http.NotFound(w, r)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: !strings.HasPrefix(review.Request.Name, "bad")}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review) // an API server that hears nothing reports it
}

func (b *backend) comes() {
	b.Helper()
	b.down.Store(false)
	endpoint(b.env, b.listener)
}

// goes deletes the endpoint, as if all pods were lost.
func (b *backend) goes() {
	b.Helper()
	b.down.Store(true)
	b.must(b.kube.DiscoveryV1().EndpointSlices(b.namespace).Delete(b.ctx, "server-service-server-0", metav1.DeleteOptions{}))
}

type request struct{ user, group, namespace, name string }

// passes reports whether the API server accepts a ConfigMap, with a dry run.
func (b *backend) passes(r request) bool {
	b.Helper()
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: r.user, Groups: []string{"system:masters", "system:authenticated", r.group}}
	client, err := kubernetes.NewForConfig(config)
	b.must(err)
	_, err = client.CoreV1().ConfigMaps(r.namespace).Create(b.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: r.name, Labels: map[string]string{"test": b.namespace},
	}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err == nil
}

// admits returns which of four requests pass: of a node, about the own namespace, of another client, and a bad one.
func (b *backend) admits() (passing string) {
	b.Helper()
	for _, one := range []struct {
		name string
		request
	}{
		{"node", request{"system:node:a", "system:nodes", b.other, "good"}},
		{"own", request{"alice", "people", b.namespace, "good"}},
		{"other", request{"alice", "people", b.other, "good"}},
		{"bad", request{"system:node:a", "system:nodes", b.other, "bad"}},
	} {
		if b.passes(one.request) {
			passing += one.name + " "
		}
	}
	return strings.TrimSpace(passing)
}

func (b *backend) record() *managerv1alpha1.FailOpen {
	b.Helper()
	return webhookStatus(b.env, "operator.v1", "v.example.com").FailOpen
}

// is waits for the state, in the status and in the configuration.
func (b *backend) is(state managerv1alpha1.FailOpenState) {
	b.Helper()
	b.eventually("the webhook is "+string(state), func() (bool, any) {
		live, record := b.registration("v.example.com"), b.record()
		return record != nil && record.State == state && webhookconfig.OpenState(&live) == state, record
	})
}

func (b *backend) opening(i int) managerv1alpha1.Opening {
	b.Helper()
	record := b.record()
	if record == nil || len(record.Openings) <= i {
		b.Fatalf("there is no opening %d: %+v", i, record)
	}
	return record.Openings[i]
}

// A backend is lost: requests pass exactly as the administrator allows, and not before. A webhook that answers refuses all
// the same. When it serves, the webhook is as before.
func TestFailOpen(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "90s", "fail-open-all-after": "5m", "fail-open-for": "1h"})
	before := b.registration("v.example.com")
	same(t, "while it serves", b.admits(), "node own other")

	b.goes()
	b.eventually("it is unreachable", func() (bool, any) { r := b.record(); return r != nil && r.UnreachableSince != nil, r })
	same(t, "the state at first", b.record().State, closed)
	b.is(partly)
	b.emits("Warning WebhookOpened")
	b.eventually("the API server knows that it is open", func() (bool, any) { got := b.admits(); return strings.HasPrefix(got, "node own"), got })
	if state := b.record().State; state == partly {
		same(t, "while it is open for some", b.admits(), "node own bad")
	}
	b.is(all)
	b.eventually("all requests pass", func() (bool, any) { got := b.admits(); return got == "node own other bad", got })
	opening, since := b.opening(0), b.record().UnreachableSince
	if waited := opening.From.Sub(since.Time); waited < 2*time.Second {
		t.Errorf("it opened after %s, and 3s are allowed", waited)
	}
	if waited := opening.AllFrom.Sub(since.Time); waited < 9*time.Second {
		t.Errorf("it opened for all after %s, and 10s are allowed", waited)
	}

	b.comes()
	b.is(closed)
	b.emits("Normal WebhookClosed")
	same(t, "closed by", b.opening(0).ClosedBy, managerv1alpha1.ClosedServed)
	b.eventually("it refuses again", func() (bool, any) { got := b.admits(); return got == "node own other", got })
	after := b.registration("v.example.com")
	same(t, "the webhooks", after.Webhooks, before.Webhooks)
	same(t, "the annotations", after.Annotations, before.Annotations)
}

// An open webhook that answers refuses. This one is security-critical, and the administrator lets it open nevertheless.
func TestOpenWebhookRefuses(t *testing.T) {
	settings := map[string]string{"fail-open-after": "30s", "fail-open-all-after": "30s", "fail-open-security-critical": "true"}
	b := newBackend(t, settings, securityCritical("*"))
	b.goes()
	b.is(all)
	m := b.manager
	m.stop()
	b.comes()
	b.eventually("the API server calls it", func() (bool, any) { got := b.admits(); return got == "node own other", got })
	live := b.registration("v.example.com")
	same(t, "the configuration", webhookconfig.OpenState(&live), all)
}

// After its time, it closes although the backend is still lost, and stays closed.
func TestFailOpenTimeOver(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "30s", "fail-open-for": "2m"})
	b.goes()
	b.is(partly)
	b.is(closed)
	opening := b.opening(0)
	same(t, "closed by", opening.ClosedBy, managerv1alpha1.ClosedTimeOver)
	if took := opening.Until.Sub(opening.From.Time); took > 30*time.Second {
		t.Errorf("it was open for %s", took)
	}
	b.eventually("nothing passes", func() (bool, any) { got := b.admits(); return got == "", got })
	b.looksFor(3*time.Second, func() { same(t, "openings", len(b.record().Openings), 1) })
}

// looksFor repeats a check for a while.
func (e *env) looksFor(while time.Duration, check func()) {
	e.Helper()
	err := wait.PollUntilContextTimeout(e.ctx, 100*time.Millisecond, while, true, func(context.Context) (bool, error) {
		check()
		return e.Failed(), nil
	})
	if !wait.Interrupted(err) {
		e.must(err)
	}
}

// Without the administrator's permission, nothing opens.
func TestNothingOpens(t *testing.T) {
	author := func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Annotations = withPrefix(map[string]string{"fail-open-after": "30s"})
	}
	after := map[string]string{"fail-open-after": "30s"}
	for name, test := range map[string]struct {
		settings map[string]string
		change   func(*operatorsv1alpha1.ClusterServiceVersion)
		refusal  string
	}{
		"no annotation":     {map[string]string{}, func(*operatorsv1alpha1.ClusterServiceVersion) {}, ""},
		"only the author's": {map[string]string{}, author, ""},
		"security-critical": {after, securityCritical("v.example.com"), ""},
		"all critical":      {after, securityCritical("*"), ""},
		"misspelt":          {after, securityCritical("w.example.com"), "names \"w.example.com\""},
		"not valid":         {map[string]string{"fail-open-after": "30"}, func(*operatorsv1alpha1.ClusterServiceVersion) {}, "which is no duration"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t, test.settings, test.change)
			before := b.registration("v.example.com").ResourceVersion
			b.goes()
			b.webhookIs("Unreachable", "NoReadyEndpoints")
			b.looksFor(3*time.Second, func() {
				same(t, "the record", b.record(), nil)
				same(t, "the resourceVersion", b.registration("v.example.com").ResourceVersion, before)
			})
			same(t, "what passes", b.admits(), "")
			installtest.Says(t, "the condition", test.refusal, conditionIn(b.rollout("operator.v1").Conditions, "ConfigRefused").Message)
		})
	}
}

func securityCritical(names string) func(*operatorsv1alpha1.ClusterServiceVersion) {
	return func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Annotations = withPrefix(map[string]string{"security-critical": names})
	}
}

// Without a Subscription, the annotations of the ClusterServiceVersion apply.
func TestFailOpenWithoutSubscription(t *testing.T) {
	b := newBackend(t, nil, func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Annotations = withPrefix(map[string]string{"fail-open-after": "30s"})
	})
	b.goes()
	b.is(partly)
	for where, annotations := range map[string]map[string]string{
		"the Deployment": b.deployment("server").Annotations, "its pods": b.deployment("server").Spec.Template.Annotations,
		"the registration": b.registration("v.example.com").Annotations,
	} {
		if _, copied := annotations[wellknown.AnnotationFailOpenAfter]; copied {
			t.Errorf("%s has the annotation", where)
		}
	}
}

// The administrator ends an opening, and a conversion never opens.
func TestFailOpenWithdrawn(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "30s"})
	b.goes()
	b.is(partly)
	reconfigure(b.env, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations = nil })
	b.is(closed)
	same(t, "closed by", b.opening(0).ClosedBy, managerv1alpha1.ClosedWithdrawn)
	kube.Get(b.env, b.olm.Subscriptions(b.namespace), "operator")
}

// An upgrade that waits changes nothing of the opening of the version in service.
func TestFailOpenWhileAnUpgradeWaits(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "30s"})
	b.goes()
	b.is(partly)
	next := replacing("operator.v1", csv("operator.v2", "server"))
	next.Spec.WebhookDefinitions[0] = b.get("operator.v1").Spec.WebhookDefinitions[0]
	next.Spec.MinKubeVersion = "99.0.0"
	b.create(next)
	before := b.registration("v.example.com").ResourceVersion
	b.reaches("operator.v2", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	b.looksFor(3*time.Second, func() {
		same(t, "the resourceVersion", b.registration("v.example.com").ResourceVersion, before)
		same(t, "the state", b.record().State, partly)
	})
	same(t, "the number of openings", len(b.record().Openings), 1)
}

// The WebhookRollout is deleted while the webhook is open and no manager runs. The next manager records the opening.
func TestFailOpenWithoutARecord(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "30s"})
	b.goes()
	b.is(partly)
	opening := b.opening(0)
	b.stop()
	b.must(b.olm.WebhookRollouts(b.namespace).Delete(b.ctx, "operator.v1", metav1.DeleteOptions{}))
	b.manager = b.manage(shortly)
	b.eventually("the opening is recorded", func() (bool, any) {
		r, err := b.olm.WebhookRollouts(b.namespace).Get(b.ctx, "operator.v1", metav1.GetOptions{})
		recorded := err == nil && len(r.Status.Deployments) > 0 && len(r.Status.Deployments[0].Webhooks) > 0
		return recorded && r.Status.Deployments[0].Webhooks[0].FailOpen != nil && len(r.Status.Deployments[0].Webhooks[0].FailOpen.Openings) > 0, r
	})
	recorded := b.opening(0)
	same(t, "closed by", recorded.ClosedBy, managerv1alpha1.ClosedChanged)
	same(t, "the requests", recorded.Requests, opening.Requests)
	if recorded.From.After(opening.From.Time) || recorded.Until.Before(&opening.From) {
		t.Errorf("recorded from %s until %s, and it was open from %s", recorded.From, recorded.Until, opening.From)
	}
}

// A disabled webhook is not open, and its openings are still recorded.
func TestFailOpenDisabled(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "30s"})
	b.goes()
	b.is(partly)
	reconfigure(b.env, func(c *operatorsv1alpha1.SubscriptionConfig) {
		c.Annotations[wellknown.AnnotationDisabledWebhooks] = "v.example.com"
	})
	b.eventually("it is disabled", func() (bool, any) {
		w := webhookStatus(b.env, "operator.v1", "v.example.com")
		return w.State == managerv1alpha1.WebhookDisabled && w.FailOpen != nil && !w.FailOpen.IsOpen(), w
	})
}

// While a requirement is not met, or without a scope, a webhook does not stay open for longer than allowed.
func TestFailOpenClosesWithoutScope(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "30s"})
	b.goes()
	b.is(partly)
	b.must(b.olm.OperatorGroups(b.namespace).Delete(b.ctx, "og", metav1.DeleteOptions{}))
	b.eventually("it is closed", func() (bool, any) {
		live := b.registration("v.example.com")
		return webhookconfig.OpenState(&live) == closed && !b.record().IsOpen(), b.record()
	})
	same(t, "failurePolicy", *b.registration("v.example.com").Webhooks[0].FailurePolicy, admissionregistrationv1.Fail)
}
