package prober

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// Mode selects who probes endpoints.
type Mode string

const (
	// ModeDial is the manager, and the API server if the manager reaches no endpoint.
	ModeDial Mode = "dial"
	// ModeAPIServer is always the API server.
	ModeAPIServer Mode = "apiserver"
)

// canaryTimeout is how long API servers may take to observe a canary.
const canaryTimeout = 5 * time.Second

// throughAPIServer gives all endpoints one result, because it is unknown which pods were reached.
func (p *Prober) throughAPIServer(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, endpoints []backends.Endpoint, trust []byte, answers decide.Probed) {
	for _, some := range byPort(endpoints) {
		target, paths := serviceOf(some[0]), pathsOf(some)
		found := map[string]probe.Result{}
		result := p.sendCanary(ctx, csv, some[0], paths, [][]byte{trust}, func(canary *admissionregistrationv1.ValidatingWebhookConfiguration) {
			for i, path := range paths {
				target.Call = callOf(some[slices.IndexFunc(some, func(e backends.Endpoint) bool { return e.Review.Path == path })])
				found[path] = probe.PathFromAPIServer(target, render.CanaryPath(i), p.request(ctx, csv, canary, render.CanaryPath(i)))
			}
		})
		for _, e := range some {
			answer := answerOf(result)
			if at, asked := found[e.Review.Path]; asked {
				answer = answerOf(at)
			}
			answer.ThroughAPIServer = true
			answers[e] = answer
		}
	}
}

func byPort(endpoints []backends.Endpoint) map[int32][]backends.Endpoint {
	all := map[int32][]backends.Endpoint{}
	for _, e := range endpoints {
		all[e.Port] = append(all[e.Port], e)
	}
	return all
}

func pathsOf(endpoints []backends.Endpoint) []string {
	return lists.Distinct(lists.FilterMap(endpoints, func(e backends.Endpoint) (string, bool) { return e.Review.Path, e.Review.Path != "" }))
}

func serviceOf(e backends.Endpoint) probe.Target {
	return probe.Target{Address: e.ServerName, ServerName: e.ServerName, What: "the Service"}
}

// sendCanary calls a canary under each bundle until a call fails, then calls reached (may be nil), and deletes it.
func (p *Prober) sendCanary(
	ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, e backends.Endpoint, paths []string, bundles [][]byte,
	reached func(*admissionregistrationv1.ValidatingWebhookConfiguration),
) probe.Result {
	target := serviceOf(e)
	canaries := p.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	desired := render.Canary(csv, e.Service, e.Port, bundles...)
	render.AddPaths(desired, paths)
	canary, err := write.Apply(ctx, canaries, desired, nil)
	if err != nil {
		return probe.FromAPIServer(target, render.CanarySeen, err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ReconcileTimeout)
		defer cancel()
		canary.ResourceVersion = "" // another client may have changed the canary
		if err := write.Delete(ctx, canaries, canary); err != nil {
			p.Log.WithError(err).WithField("canary", canary.Name).Warn("a canary stays until its ClusterServiceVersion is reconciled again")
		}
	}()
	var refusal error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, canaryTimeout, true, func(ctx context.Context) (bool, error) {
		refusal = p.request(ctx, csv, canary, render.CanarySeen)
		return refusal != nil && strings.Contains(refusal.Error(), render.CanaryCondition), nil
	})
	if err != nil {
		return probe.FromAPIServer(target, render.CanaryCalled(0), refusal)
	}
	for i := range bundles {
		called := render.CanaryCalled(i)
		if result := probe.FromAPIServer(target, called, p.refusal(ctx, csv, canary, called)); result.Reason != probe.Serving {
			return result
		}
	}
	if reached != nil {
		reached(canary)
	}
	return probe.Result{Target: target, Reason: probe.Serving}
}

// refusal is nil if no attempt was refused. Another API server may not have observed the canary yet.
func (p *Prober) refusal(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, canary *admissionregistrationv1.ValidatingWebhookConfiguration, webhook string) (refusal error) {
	_ = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, canaryTimeout, true, func(context.Context) (bool, error) { // refusal has the last error
		refusal = p.request(ctx, csv, canary, webhook)
		return refusal != nil, nil
	})
	return refusal
}

// request creates an object that a webhook of the canary matches, and returns the refusal.
func (p *Prober) request(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, canary *admissionregistrationv1.ValidatingWebhookConfiguration, webhook string) error {
	_, err := p.OLM.WebhookRollouts(csv.Namespace).Create(ctx, render.CanaryObject(canary.Name, webhook),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: wellknown.FieldManager})
	return err
}

// callBackends calls a Service under the new CA only. Each backend gets the result: it is unknown which one answered.
func (p *Prober) callBackends(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, service, asked *corev1.Service, behind []backends.Backend, endpoints []*discoveryv1.EndpointSlice, serving *certs.Serving) []certs.Backend {
	calls := serving.Sampling(backends.SamplingObstacle(service, asked, behind, endpoints))
	found := certs.Backend{}
	if calls.Worthwhile {
		found = p.callThrough(ctx, csv, service, len(behind), serving.CA)
	}
	if found.Serves == certs.ServesCurrent && calls.Inconclusive != "" {
		found = certs.Backend{Serves: certs.ServesUnknown, Message: fmt.Sprintf(
			"pods cannot be dialled, and calls through Service %s/%s do not show which certificate each pod serves, because %s", service.Namespace, service.Name, calls.Inconclusive)}
	}
	all := make([]certs.Backend, 0, len(behind))
	for _, b := range behind {
		seen := found
		addPod(&seen, b)
		all = append(all, seen)
	}
	return all
}

// callThrough calls each port of a Service and returns the first failed call.
func (p *Prober) callThrough(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, service *corev1.Service, behind int, trust []byte) certs.Backend {
	for _, port := range backends.ProbedService(nil, service).Spec.Ports {
		e := backends.Endpoint{Service: service.Name, Port: port.Port, ServerName: fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace)}
		bundles := render.UniqueBundles(trust, backends.SampleSize(behind), p.Now().UTC().Format(time.RFC3339Nano))
		switch result := p.sendCanary(ctx, csv, e, nil, bundles, nil); result.Reason {
		case probe.Serving:
		case probe.ForeignCertificate:
			return certs.Backend{Serves: certs.ServesOther, Message: "an endpoint behind " + result.Address + " serves another certificate to the API server"}
		default:
			return certs.Backend{Serves: certs.ServesUnknown, Message: result.Err.Error()}
		}
	}
	return certs.Backend{}
}
