package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// failing is the beginning of the names of webhooks whose server answers with an error.
const failing = "failing"

// recorder is the server of all webhooks of the test. It allows every request, and records who was called.
type recorder struct {
	*httptest.Server

	mutex                sync.Mutex
	mutating, validating []string
}

func newRecorder(e *env) *recorder {
	e.Helper()
	r := &recorder{}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(r.review))
	e.Cleanup(r.Close)
	return r
}

// review is called at /mutating/NAME or /validating/NAME.
func (r *recorder) review(w http.ResponseWriter, request *http.Request) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
	r.mutex.Lock()
	if kind == "mutating" {
		r.mutating = append(r.mutating, name)
	} else {
		r.validating = append(r.validating, name)
	}
	r.mutex.Unlock()
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(request.Body).Decode(&review); err != nil || strings.HasPrefix(name, failing) {
		http.Error(w, "as the test wants", http.StatusInternalServerError)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// calls are those since the last call of this function. Validating webhooks are called in no order.
func (r *recorder) calls() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	slices.Sort(r.validating)
	all := append(slices.Clone(r.mutating), r.validating...)
	r.mutating, r.validating = nil, nil
	return append([]string{}, all...)
}

func (r *recorder) at(kind, name string) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{URL: new(r.URL + "/" + kind + "/" + name), CABundle: certificatePEM(r.Certificate().Raw)}
}

// register replaces the webhooks and policies of the previous round, and waits until API servers use the new ones.
func (g *generator) register(round int) {
	g.Helper()
	g.unregister()
	if round == 0 {
		g.Cleanup(g.unregister)
	}
	probe := fmt.Sprintf("probe-%d", round)
	api := g.kube.AdmissionregistrationV1()
	meta := func(kind string, i int) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: fmt.Sprintf("%c-%s-%s-%d-%d", 'a'+g.random.IntN(26), kind, g.namespace, round, i), Labels: map[string]string{"registered": g.namespace}}
	}
	for i := range 4 {
		m := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: meta("m", i)}
		v := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta("v", i)}
		for j := range 1 + g.random.IntN(2) {
			m.Webhooks = append(m.Webhooks, mutatingOf(g.webhook("mutating", fmt.Sprintf("m%d%d", i, j), probe, i == 3)))
			v.Webhooks = append(v.Webhooks, g.webhook("validating", fmt.Sprintf("v%d%d", i, j), probe, i == 3))
		}
		kube.Create(g, api.MutatingWebhookConfigurations(), m)
		kube.Create(g, api.ValidatingWebhookConfigurations(), v)
	}
	g.registerPolicies(meta, probe)
	g.used(probe)
}

// unregister deletes what register has created. A webhook of the test must not see the deletion.
func (g *generator) unregister() {
	g.Helper()
	ctx, ours, api := context.WithoutCancel(g.ctx), metav1.ListOptions{LabelSelector: "registered=" + g.namespace}, g.kube.AdmissionregistrationV1()
	for _, client := range []interface {
		DeleteCollection(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
	}{
		api.ValidatingAdmissionPolicyBindings(), api.ValidatingAdmissionPolicies(), api.MutatingAdmissionPolicyBindings(), api.MutatingAdmissionPolicies(),
		api.MutatingWebhookConfigurations(), api.ValidatingWebhookConfigurations(),
	} {
		g.must(client.DeleteCollection(ctx, metav1.DeleteOptions{}, ours))
	}
}

func (g *generator) remove(o *unstructured.Unstructured) {
	_ = clientFor(g.any, o).Delete(context.WithoutCancel(g.ctx), o.GetName(), metav1.DeleteOptions{})
}

// used waits until the last webhooks and policies see requests: the earlier ones are used, too. They see no other requests.
func (g *generator) used(probe string) {
	g.Helper()
	for _, kind := range []schema.GroupVersionKind{{Version: "v1", Kind: "ConfigMap"}, {Group: g.group, Version: "v1", Kind: "Widget"}, {Group: g.group, Version: "v1", Kind: "Gauge"}} {
		g.eventually("webhooks and policies see "+probe+" of kind "+kind.Kind, func() (bool, any) {
			g.server.calls()
			o, err := g.probe(kind, probe)
			called := fmt.Sprint(g.server.calls())
			if err != nil || !strings.Contains(called, "m3") || !strings.Contains(called, "v3") || o.GetAnnotations()["seen"] == "" {
				return false, fmt.Sprint(called, o, err)
			}
			_, err = g.probe(kind, probe+deniedProbe)
			return err != nil && strings.Contains(err.Error(), probe+deniedProbe), fmt.Sprint(err)
		})
	}
}

// deniedProbe is the end of the name of probes that the last validating policy denies.
const deniedProbe = "-denied"

func (g *generator) probe(kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(kind)
	o.SetName(name)
	if kind.Kind != "Gauge" {
		o.SetNamespace(g.namespaces[0])
	}
	label(o, "probe", name)
	return clientFor(g.any, o).Create(g.ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

func mutatingOf(w admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.MutatingWebhook {
	return admissionregistrationv1.MutatingWebhook{
		Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
		NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, MatchConditions: w.MatchConditions,
		SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
	}
}
