package backends

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// With more backends than maxSampled, successful calls through a Service prove nothing.
const maxSampled = 8

// SampleSize returns how many connections miss a given backend in one of three thousand cases.
func SampleSize(backends int) int {
	if backends <= 1 {
		return 1
	}
	return 8 * min(backends, maxSampled)
}

// SamplingObstacle returns why calls do not reach all backends equally; empty if they do.
func SamplingObstacle(service, asked *corev1.Service, backends []Backend, endpoints []*discoveryv1.EndpointSlice) string {
	switch {
	case !SameTargets(ProbedService(nil, service), asked):
		return "the Service does not lead where it should"
	case len(backends) > maxSampled:
		return fmt.Sprintf("there are more than %d of them", maxSampled)
	case service.Spec.SessionAffinity == corev1.ServiceAffinityClientIP:
		return "the Service has session affinity"
	case service.Spec.InternalTrafficPolicy != nil && *service.Spec.InternalTrafficPolicy != corev1.ServiceInternalTrafficPolicyCluster,
		service.Spec.TrafficDistribution != nil:
		return "the Service prefers some of them"
	}
	ready := readyAddresses(endpoints)
	for _, b := range backends {
		if !slices.ContainsFunc(b.Endpoints, func(e Endpoint) bool { return ready[e.Address] }) {
			return b.What + " is not ready"
		}
	}
	return ""
}

func readyAddresses(endpoints []*discoveryv1.EndpointSlice) map[string]bool {
	ready := map[string]bool{}
	for _, slice := range endpoints {
		for _, e := range slice.Endpoints {
			if !route.Ready(e) {
				continue
			}
			for _, address := range addressesIn(slice, e) {
				ready[address] = true
			}
		}
	}
	return ready
}
