package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// sample lets the API server call a Service under the new CA alone, on so many connections
// that all of its backends are reached, if an answer counts. Which of them answered nobody can
// tell, so what is found out is said of each.
func (c *prober) sample(ctx context.Context, s *snapshot, service, asked *corev1.Service, behind []backends.Backend, endpoints []*discoveryv1.EndpointSlice, serving *certs.Serving) []certs.Backend {
	calls := serving.Sampling(backends.SamplingObstacle(service, asked, behind, endpoints))
	found := certs.Backend{}
	if calls.Worthwhile {
		found = c.callThrough(ctx, s, service, len(behind), serving.CA)
	}
	if found.Serves == certs.ServesCurrent && calls.Inconclusive != "" {
		found = certs.Backend{Serves: certs.ServesUnknown, Message: fmt.Sprintf(
			"pods cannot be dialled, and calls through Service %s/%s do not tell what each of them serves, because %s", service.Namespace, service.Name, calls.Inconclusive)}
	}
	all := make([]certs.Backend, 0, len(behind))
	for _, b := range behind {
		seen := found
		inPod(&seen, b)
		all = append(all, seen)
	}
	return all
}

// callThrough has each port of a Service called, and tells of the first call that does not come
// through.
func (c *prober) callThrough(ctx context.Context, s *snapshot, service *corev1.Service, behind int, trust []byte) certs.Backend {
	for _, port := range backends.ProbedService(nil, service).Spec.Ports {
		e := backends.Endpoint{Service: service.Name, Port: port.Port, ServerName: fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace)}
		bundles := render.UniqueBundles(trust, backends.SampleSize(behind), c.now().UTC().Format(time.RFC3339Nano))
		switch result := c.sendCanary(ctx, s, e, bundles...); result.Reason {
		case probe.Serving:
		case probe.ForeignCertificate:
			return certs.Backend{Serves: certs.ServesOther, Message: "somebody behind " + result.Address + " serves another certificate to the API server"}
		default:
			return certs.Backend{Serves: certs.ServesUnknown, Message: result.Err.Error()}
		}
	}
	return certs.Backend{}
}
