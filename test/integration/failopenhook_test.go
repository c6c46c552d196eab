package integration

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// openable is a validating and a mutating webhook with one server. A test stops the server, and opens and closes the
// configurations as the manager does.
type openable struct {
	*env
	*httptest.Server

	down    atomic.Bool
	rollout *managerv1alpha1.WebhookRollout
	record  managerv1alpha1.FailOpen
}

const (
	badMode = "bad"    // what the validating webhook refuses, in the data of a ConfigMap
	stamped = "judged" // the label that the mutating webhook adds
)

func newOpenable(e *env) *openable {
	e.Helper()
	o := &openable{env: e}
	o.Server = httptest.NewTLSServer(http.HandlerFunc(o.review))
	e.Cleanup(o.Close)
	o.configure(managerv1alpha1.FailOpenClosed)
	o.rollout = kube.Create(e, e.olm.WebhookRollouts(e.namespace), &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Name: "operator.v1"}})
	return o
}

func (o *openable) validating() string { return "v." + o.namespace + ".example.com" }
func (o *openable) mutating() string   { return "m." + o.namespace + ".example.com" }

// review ends the connection without an answer while the server is down.
func (o *openable) review(w http.ResponseWriter, request *http.Request) {
	if o.down.Load() {
		panic(http.ErrAbortHandler)
	}
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	var object unstructured.Unstructured
	if review.Request.Object.Raw != nil {
		_ = object.UnmarshalJSON(review.Request.Object.Raw)
		mode, _, _ := unstructured.NestedString(object.Object, "data", "mode")
		switch {
		case strings.HasSuffix(request.URL.Path, "/validate") && mode == badMode:
			review.Response.Allowed, review.Response.Result = false, &metav1.Status{Message: "the mode is bad"}
		case strings.HasSuffix(request.URL.Path, "/mutate") && object.GetLabels()[stamped] == "":
			patched := admissionv1.PatchTypeJSONPatch
			review.Response.PatchType, review.Response.Patch = &patched, []byte(`[{"op":"add","path":"/metadata/labels/judged","value":"yes"}]`)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// ofNodes is the condition of a partial opening: requests of nodes, and about objects of one namespace.
func (o *openable) ofNodes() string {
	return "'system:nodes' in request.userInfo.groups || request.namespace == '" + o.namespace + "'"
}

// configure writes both configurations in the form of a state.
func (o *openable) configure(state managerv1alpha1.FailOpenState) {
	o.Helper()
	api := o.kube.AdmissionregistrationV1()
	meta := metav1.ObjectMeta{Name: "openable-" + o.namespace, Labels: map[string]string{"olm.owner.namespace": o.namespace}}
	v := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta, Webhooks: o.webhooks(o.validating(), "/validate", state)}
	m := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta, Webhooks: lists.Map(o.webhooks(o.mutating(), "/mutate", state), mutatingOf)}
	if o.rollout == nil {
		kube.Create(o, api.ValidatingWebhookConfigurations(), v)
		kube.Create(o, api.MutatingWebhookConfigurations(), m)
		return
	}
	v.ResourceVersion = kube.Get(o, api.ValidatingWebhookConfigurations(), v.Name).ResourceVersion
	m.ResourceVersion = kube.Get(o, api.MutatingWebhookConfigurations(), m.Name).ResourceVersion
	_, err := api.ValidatingWebhookConfigurations().Update(o.ctx, v, metav1.UpdateOptions{})
	o.must(err)
	_, err = api.MutatingWebhookConfigurations().Update(o.ctx, m, metav1.UpdateOptions{})
	o.must(err)
}

// webhooks are the closed form, the form that is open for all requests, or the two webhooks of a partial opening.
func (o *openable) webhooks(name, path string, state managerv1alpha1.FailOpenState) []admissionregistrationv1.ValidatingWebhook {
	none, ignore := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Ignore
	declared := admissionregistrationv1.ValidatingWebhook{
		Name: name, ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new(o.URL + path), CABundle: certificatePEM(o.Certificate().Raw)},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps", "secrets"}},
		}},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"openable": o.namespace}},
		MatchConditions:   []admissionregistrationv1.MatchCondition{{Name: "not-skipped", Expression: "!request.name.startsWith('skipped')"}},
		SideEffects:       &none, AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: new(int32(5)),
	}
	open := *declared.DeepCopy()
	open.FailurePolicy = &ignore
	switch state {
	case managerv1alpha1.FailOpenAll:
		return []admissionregistrationv1.ValidatingWebhook{open}
	case managerv1alpha1.FailOpenPartly:
		open.Name = wellknown.OpenWebhookPrefix + name
		add := func(w *admissionregistrationv1.ValidatingWebhook, expression string) {
			w.MatchConditions = append(w.MatchConditions, admissionregistrationv1.MatchCondition{Name: wellknown.OpenMatchCondition, Expression: expression})
		}
		add(&declared, "!("+o.ofNodes()+")")
		add(&open, o.ofNodes())
		return []admissionregistrationv1.ValidatingWebhook{declared, open}
	default:
		return []admissionregistrationv1.ValidatingWebhook{declared}
	}
}

// opens stops the server, and opens both webhooks, in the order of the manager: the record is first.
func (o *openable) opens(state managerv1alpha1.FailOpenState) {
	o.Helper()
	o.down.Store(true)
	now := metav1.Now()
	opening := managerv1alpha1.Opening{From: now, Until: new(metav1.NewTime(now.Add(patience))), Requests: o.ofNodes()}
	if state == managerv1alpha1.FailOpenAll {
		opening.AllFrom = &now
	}
	o.record.State, o.record.Openings = state, append(o.record.Openings, opening)
	o.report()
	o.configure(state)
	o.eventually("requests pass without an answer", func() (bool, any) {
		err := o.probe()
		return err == nil, err
	})
}

// closes starts the server, and closes both webhooks.
func (o *openable) closes() {
	o.Helper()
	o.down.Store(false)
	o.configure(managerv1alpha1.FailOpenClosed)
	o.eventually("the webhook refuses", func() (bool, any) {
		err := o.probe()
		return err != nil && strings.Contains(err.Error(), "the mode is bad"), err
	})
	last := &o.record.Openings[len(o.record.Openings)-1]
	endOfSecond := metav1.NewTime(time.Now().Truncate(time.Second).Add(time.Second)) // as the manager records it
	last.Until, last.ClosedBy, o.record.State = &endOfSecond, managerv1alpha1.ClosedServed, managerv1alpha1.FailOpenClosed
	o.report()
}

// probe sends a dry run of what the validating webhook refuses.
func (o *openable) probe() error {
	_, err := clientFor(o.any, configMap(o.namespace, "probe", badMode)).Create(o.ctx, configMap(o.namespace, "probe", badMode), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func configMap(namespace, name, mode string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"mode": mode, "scratch": "x"}}}
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(map[string]string{"made": "here"})
	return o
}

// report writes the record of both webhooks.
func (o *openable) report() {
	o.Helper()
	status := func(kind operatorsv1alpha1.WebhookAdmissionType, name string) managerv1alpha1.WebhookStatus {
		return managerv1alpha1.WebhookStatus{
			Type: kind, GenerateName: name, State: managerv1alpha1.WebhookRegistered, Configuration: "openable-" + o.namespace, FailOpen: o.record.DeepCopy(),
		}
	}
	o.rollout.Status.Deployments = []managerv1alpha1.DeploymentStatus{{Name: "server", State: managerv1alpha1.DeploymentAvailable, Webhooks: []managerv1alpha1.WebhookStatus{
		status(operatorsv1alpha1.ValidatingAdmissionWebhook, o.validating()), status(operatorsv1alpha1.MutatingAdmissionWebhook, o.mutating()),
	}}}
	o.rollout = installtest.OrPanic(o.olm.WebhookRollouts(o.namespace).UpdateStatus(o.ctx, o.rollout, metav1.UpdateOptions{}))
}
