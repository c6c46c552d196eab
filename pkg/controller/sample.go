package controller

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// sample lets the API server call a Service under the new CA alone, on so many connections
// that all of its backends are reached. Which of them answered nobody can tell, so what is
// found out is said of each.
func (c *Controller) sample(ctx context.Context, s *snapshot, service *corev1.Service, backends []rollout.Backend, endpoints []*discoveryv1.EndpointSlice, serving *certs.Serving) []certs.Backend {
	what := certs.Backend{}
	for _, port := range service.Spec.Ports {
		e := rollout.Endpoint{Service: service.Name, Port: port.Port, ServerName: fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace)}
		bundles := install.FreshBundles(serving.CA, rollout.SampleSize(len(backends)), c.now().UTC().Format(time.RFC3339Nano))
		result := c.sendCanary(ctx, s, e, bundles...)
		if what = sampled(result); what.Serves != certs.ServesCurrent {
			break
		}
	}
	if what.Serves == certs.ServesCurrent {
		what = conclusive(service, backends, endpoints, serving)
	}
	all := make([]certs.Backend, 0, len(backends))
	for _, b := range backends {
		seen := what
		inPod(&seen, b)
		all = append(all, seen)
	}
	return all
}

// sampled is what the first call shows that did not come through, or all that did.
func sampled(result probe.Result) certs.Backend {
	switch result.Reason {
	case probe.Serving:
		return certs.Backend{}
	case probe.ForeignCertificate:
		return certs.Backend{Serves: certs.ServesOther, Message: "somebody behind " + result.Address + " serves another certificate to the API server"}
	default:
		return certs.Backend{Serves: certs.ServesUnknown, Message: result.Err.Error()}
	}
}

// conclusive says whether calls that came through show what everybody serves.
func conclusive(service *corev1.Service, backends []rollout.Backend, endpoints []*discoveryv1.EndpointSlice, serving *certs.Serving) certs.Backend {
	why := rollout.Unsampled(service, backends, endpoints)
	if serving.SharesCA {
		why = "the certificate before is of the same CA"
	}
	if why == "" {
		return certs.Backend{}
	}
	return certs.Backend{Serves: certs.ServesUnknown, Message: fmt.Sprintf(
		"pods cannot be dialled, and calls through Service %s/%s do not tell what each of them serves, because %s", service.Namespace, service.Name, why)}
}
