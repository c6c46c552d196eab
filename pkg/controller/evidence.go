package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// probeCertificate asks every pod behind the desired Service of a Deployment, and every endpoint of the
// live one, for the certificate that it serves. The API server lists the pods: one that the cache
// does not show yet may serve another certificate. That there is none is evidence only because every
// selector that could find one was used.
func (c *prober) probeCertificate(ctx context.Context, s *snapshot, q decide.ProbeCertificate) (decide.Evidence, error) {
	trust, err := c.readTrust(ctx, s, q.ReadTrust)
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
	behind, endpoints, err := c.backends(ctx, asked, backends.PodSelectors(asked, q.Service, q.Live), q.Deployment)
	if err != nil {
		return decide.Evidence{}, err
	}
	dialled := false
	if c.Probe != ProbeAPIServer {
		evidence.Found.Backends, dialled = c.ask(ctx, behind, q.Serving)
	}
	if !dialled && len(behind) > 0 {
		evidence.Found.Backends, evidence.Found.ThroughAPIServer = c.sample(ctx, s, cmp.Or(q.Service, asked), asked, behind, endpoints, q.Serving), true
	}
	for _, b := range behind {
		if b.Pod != nil {
			evidence.Pods[b.Pod.Name] = b.Pod
		}
	}
	return evidence, nil
}

// backends are those of a Service that the API server knows now, and what it knows of
// where they are called.
func (c *prober) backends(ctx context.Context, service *corev1.Service, selectors []string, deployment string) ([]backends.Backend, []*discoveryv1.EndpointSlice, error) {
	pods, err := c.podsBehind(ctx, service.Namespace, selectors)
	if err != nil {
		return nil, nil, err
	}
	of := metav1.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: service.Name}).String()}
	slices, err := c.Kube.DiscoveryV1().EndpointSlices(service.Namespace).List(ctx, of)
	if err != nil {
		return nil, nil, err
	}
	endpoints := pointers(slices.Items)
	return backends.Of(service, pods, endpoints, deployment), endpoints, nil
}

// podsBehind are the pods that any of some selectors selects, each once.
func (c *prober) podsBehind(ctx context.Context, namespace string, selectors []string) ([]*corev1.Pod, error) {
	var all []*corev1.Pod
	listed := map[types.UID]bool{}
	for _, selector := range selectors {
		pods, err := c.Kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return nil, err
		}
		for _, pod := range pointers(pods.Items) {
			if !listed[pod.UID] {
				listed[pod.UID] = true
				all = append(all, pod)
			}
		}
	}
	return all, nil
}

// ask dials every address of the backends, and says of each backend what it serves, and
// whether any could be dialled at all.
func (c *prober) ask(ctx context.Context, behind []backends.Backend, serving *certs.Serving) (asked []certs.Backend, dialled bool) {
	var targets []probe.Target
	for _, b := range behind {
		for _, e := range b.Endpoints {
			targets = append(targets, probe.Target{Address: e.Address, ServerName: e.ServerName, What: e.What})
		}
	}
	results := probe.All(ctx, targets, serving.CA, c.probing())
	dialled = len(results) == 0 || !probe.NoneDialled(results)
	for _, b := range behind {
		asked = append(asked, backendSeen(b, results[:len(b.Endpoints)], serving))
		results = results[len(b.Endpoints):]
	}
	return asked, dialled
}

// backendSeen serves the current certificate when it does on every port.
func backendSeen(b backends.Backend, results []probe.Result, serving *certs.Serving) certs.Backend {
	seen := certs.Backend{Message: b.Message}
	inPod(&seen, b)
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

// inPod notes the pod of a backend, if it is one, and when it was last nudged.
func inPod(seen *certs.Backend, b backends.Backend) {
	if b.Pod == nil {
		return
	}
	seen.Pod, seen.Created = b.Pod.Name, b.Pod.CreationTimestamp.Time
	if nudged, err := time.Parse(time.RFC3339Nano, b.Pod.Annotations[wellknown.AnnotationTouchedAt]); err == nil { // else never, or somebody else wrote it
		seen.ResyncedAt = nudged
	}
}

// nudge makes the pod's kubelet look at its volumes: it does whenever the pod changes.
// A pod that has changed meanwhile is looked at anyway.
func (c *writer) nudge(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion,
		"annotations": map[string]any{wellknown.AnnotationTouchedAt: c.now().UTC().Format(time.RFC3339Nano)},
	}})
	if err != nil {
		return nil, err
	}
	nudged, err := c.Kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return pod, nil
	}
	return nudged, err
}

func pointers[T any](items []T) []*T {
	all := make([]*T, 0, len(items))
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}
