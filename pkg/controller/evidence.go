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

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// readLive puts what the API server has now in place of what the caches show: the
// Secret, and everything that makes API servers call the Deployment's webhooks.
func (c *Controller) readLive(ctx context.Context, s *snapshot, deployment string, facts *certs.Facts) (err error) {
	if facts.Secret, err = c.liveSecret(ctx, s, facts.Blank.Name); err != nil {
		return err
	}
	owned := metav1.ListOptions{LabelSelector: csvspec.OwnedByAny(append([]*operatorsv1alpha1.ClusterServiceVersion{s.csv}, s.upgrade.From...)).String()}
	live, err := c.liveRegistrations(ctx, owned)
	if err != nil {
		return err
	}
	live = live.proven(s.ownership)
	s.observed.Validating, s.observed.Mutating, s.observed.APIServices = live.validating, live.mutating, live.apiServices
	if err := c.addUnlabelled(ctx, s); err != nil {
		return err
	}
	for name := range s.observed.CRDs {
		crd, err := c.Extensions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			delete(s.observed.CRDs, name)
			continue
		}
		if err != nil {
			return err
		}
		s.observed.CRDs[name] = crd
	}
	facts.Registered = registered(s, s.services[deployment])
	facts.Live = true
	return nil
}

// evidence asks every pod behind a Deployment's Service, as it is desired, and every endpoint
// of the live one, for the certificate that is to be served. The pods come from the API server:
// one that a cache does not show yet may serve another. That there is none is proof only
// because all selectors that could find one were asked.
func (c *Controller) evidence(ctx context.Context, s *snapshot, deployment string, serving *certs.Serving) (*certs.Evidence, map[string]*corev1.Pod, error) {
	seen, pods := &certs.Evidence{}, map[string]*corev1.Pod{}
	if serving == nil {
		return seen, pods, nil
	}
	seen.Leaf = serving.Leaf
	service := s.observed.Services[s.services[deployment]]
	asked := backends.Asked(s.called[deployment], service)
	if asked == nil {
		seen.Backends = []certs.Backend{{Serves: certs.ServesUnknown, Message: "Service " + s.services[deployment] + " is being created"}}
		return seen, pods, nil
	}
	behind, endpoints, err := c.backends(ctx, asked, backends.PodSelectors(asked, service, s.observed.Deployments[deployment]), deployment)
	if err != nil {
		return nil, nil, err
	}
	dialled := false
	if c.Probe != ProbeAPIServer {
		seen.Backends, dialled = c.ask(ctx, behind, serving)
	}
	if !dialled && len(behind) > 0 {
		seen.Backends, seen.ThroughAPIServer = c.sample(ctx, s, cmp.Or(service, asked), asked, behind, endpoints, serving), true
	}
	for _, b := range behind {
		if b.Pod != nil {
			pods[b.Pod.Name] = b.Pod
		}
	}
	return seen, pods, nil
}

// backends are those of a Service that the API server knows now, and what it knows of
// where they are called.
func (c *Controller) backends(ctx context.Context, service *corev1.Service, selectors []string, deployment string) ([]backends.Backend, []*discoveryv1.EndpointSlice, error) {
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
func (c *Controller) podsBehind(ctx context.Context, namespace string, selectors []string) ([]*corev1.Pod, error) {
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
func (c *Controller) ask(ctx context.Context, behind []backends.Backend, serving *certs.Serving) (asked []certs.Backend, dialled bool) {
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
	if nudged, err := time.Parse(time.RFC3339Nano, b.Pod.Annotations[vocabulary.AnnotationNudge]); err == nil { // else never, or somebody else wrote it
		seen.Nudged = nudged
	}
}

// nudge makes the pod's kubelet look at its volumes: it does whenever the pod changes.
// A pod that has changed meanwhile is looked at anyway.
func (c *Controller) nudge(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "resourceVersion": pod.ResourceVersion,
		"annotations": map[string]any{vocabulary.AnnotationNudge: c.now().UTC().Format(time.RFC3339Nano)},
	}})
	if err != nil {
		return nil, err
	}
	nudged, err := c.Kube.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: vocabulary.FieldManager})
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
