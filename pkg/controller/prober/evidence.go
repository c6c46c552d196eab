package prober

import (
	"cmp"
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// ProbeCertificate probes the pods behind the desired Service, and the endpoints of the live one. The API server
// lists the pods, because one that no cache shows may serve another certificate. All selectors are used, because
// a pod that none matches is not probed.
func (p *Prober) ProbeCertificate(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, q decide.ProbeCertificate) (decide.Evidence, error) {
	trust, err := p.Live.Trust(ctx, csv.Namespace, q.ReadTrust)
	if err != nil {
		return decide.Evidence{}, err
	}
	evidence := decide.Evidence{Trust: trust, Found: &certs.Evidence{}, Pods: map[string]*corev1.Pod{}}
	if q.Serving == nil {
		return evidence, nil
	}
	evidence.Found.Leaf = q.Serving.Leaf
	asked := backends.ProbedService(q.Desired, q.Service)
	if asked == nil {
		evidence.Found.Backends = []certs.Backend{{Serves: certs.ServesUnknown, Message: "Service " + q.ServiceName + " is being created"}}
		return evidence, nil
	}
	behind, endpoints, err := p.backends(ctx, asked, backends.PodSelectors(asked, q.Service, q.Live), q.Deployment)
	if err != nil {
		return decide.Evidence{}, err
	}
	dialled := false
	if p.Mode != ModeAPIServer {
		evidence.Found.Backends, dialled = p.dialBackends(ctx, behind, q.Serving)
	}
	if !dialled && len(behind) > 0 {
		evidence.Found.Backends, evidence.Found.ThroughAPIServer = p.callBackends(ctx, csv, cmp.Or(q.Service, asked), asked, behind, endpoints, q.Serving), true
	}
	for _, b := range behind {
		if b.Pod != nil {
			evidence.Pods[b.Pod.Name] = b.Pod
		}
	}
	for i := range evidence.Found.Backends {
		if pod := evidence.Pods[evidence.Found.Backends[i].Pod]; pod != nil {
			addRecorded(&evidence.Found.Backends[i], p.FieldContests.ResyncedAt(pod))
		}
	}
	return evidence, nil
}

// backends returns the backends of a Service and its endpoints, read from the API server.
func (p *Prober) backends(ctx context.Context, service *corev1.Service, selectors []string, deployment string) ([]backends.Backend, []*discoveryv1.EndpointSlice, error) {
	pods, err := p.Live.Pods(ctx, service.Namespace, selectors)
	if err != nil {
		return nil, nil, err
	}
	of := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name}).String()}
	slices, err := p.Kube.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx, of)
	if err != nil {
		return nil, nil, err
	}
	endpoints := live.Pointers(slices.Items)
	return backends.Of(service, pods, endpoints, deployment), endpoints, nil
}

// dialBackends also returns whether any address could be dialled.
func (p *Prober) dialBackends(ctx context.Context, behind []backends.Backend, serving *certs.Serving) (asked []certs.Backend, dialled bool) {
	var targets []probe.Target
	for _, b := range behind {
		for _, e := range b.Endpoints {
			targets = append(targets, probe.Target{Address: e.Address, ServerName: e.ServerName, What: e.What})
		}
	}
	results := probe.All(ctx, targets, serving.CA, p.options())
	dialled = len(results) == 0 || !probe.NoneDialled(results)
	for _, b := range behind {
		asked = append(asked, backendOf(b, results[:len(b.Endpoints)], serving))
		results = results[len(b.Endpoints):]
	}
	return asked, dialled
}

// backendOf returns the result for a backend. It serves the current certificate if every port does.
func backendOf(b backends.Backend, results []probe.Result, serving *certs.Serving) certs.Backend {
	seen := certs.Backend{Message: b.Message}
	addPod(&seen, b)
	if len(results) == 0 {
		seen.Serves = certs.ServesUnknown
	}
	for _, r := range results {
		switch {
		case r.Reason == probe.Serving && r.Leaf == serving.Leaf:
		case r.Reason == probe.Serving:
			seen.Serves, seen.Message = certs.ServesOther, r.What+" serves an earlier certificate of the same CA"
		case r.Reason == probe.ForeignCertificate || r.Reason == probe.UnfitCertificate:
			seen.Serves, seen.Message = certs.ServesOther, r.What+" serves another certificate"
		case seen.Serves == certs.ServesCurrent:
			seen.Serves, seen.Message = certs.ServesUnknown, r.Err.Error()
		}
	}
	return seen
}

// addRecorded adds when the annotation of a pod was last written: without it, each reconciliation would write it.
func addRecorded(seen *certs.Backend, written time.Time) {
	if !written.After(seen.ResyncedAt) {
		return
	}
	seen.ResyncedAt = written
	seen.Message += "; its pod does not keep annotation " + wellknown.AnnotationResyncedAt + ", with which the manager makes the kubelet update the certificate sooner: " +
		"exclude the pod from the webhook or policy that removes or refuses the annotation"
}

func addPod(seen *certs.Backend, b backends.Backend) {
	if b.Pod == nil {
		return
	}
	seen.Pod, seen.Created = b.Pod.Name, b.Pod.CreationTimestamp.Time
	if resynced, err := time.Parse(time.RFC3339Nano, b.Pod.Annotations[wellknown.AnnotationResyncedAt]); err == nil { // otherwise never, or by another client
		seen.ResyncedAt = resynced
	}
}
