package backends

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A result for all backends needs a sample of all.
func TestSamplingObstacle(t *testing.T) {
	type service = corev1.ServiceSpec
	for name, test := range map[string]struct {
		service  corev1.ServiceSpec
		backends int
		ready    int
		edited   bool
		want     string
	}{
		"all are ready":                   {backends: 2, ready: 2},
		"as many as can be":               {backends: 8, ready: 8},
		"too many":                        {backends: 9, ready: 9, want: "more than 8"},
		"one is not ready":                {backends: 2, ready: 1, want: "pod-1 is not ready"},
		"session affinity":                {service: service{SessionAffinity: corev1.ServiceAffinityClientIP}, backends: 1, ready: 1, want: "session affinity"},
		"no session affinity":             {service: service{SessionAffinity: corev1.ServiceAffinityNone}, backends: 1, ready: 1},
		"internal traffic to the node":    {service: service{InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyLocal)}, backends: 1, ready: 1, want: "prefers"},
		"internal traffic to the cluster": {service: service{InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyCluster)}, backends: 1, ready: 1},
		"traffic to the zone":             {service: service{TrafficDistribution: new("PreferClose")}, backends: 1, ready: 1, want: "prefers"},
		"edited selector":                 {backends: 2, ready: 2, edited: true, want: "does not lead where it should"},
		"no backends":                     {},
	} {
		t.Run(name, func(t *testing.T) {
			var backends []Backend
			slice := &discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Port: new(int32(443))}}}
			for i := range test.backends {
				ip := fmt.Sprintf("10.0.0.%d", i)
				backends = append(backends, Backend{What: fmt.Sprint("pod-", i), Endpoints: []Endpoint{{Address: "[fd00::1]:443"}, {Address: ip + ":443"}}})
				slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: new(i < test.ready)}})
			}
			service := &corev1.Service{Spec: test.service}
			desired := service.DeepCopy()
			if test.edited {
				service.Spec.Selector = map[string]string{"app": "other"}
			}
			installtest.Says(t, "the obstacle", test.want, SamplingObstacle(service, desired, backends, []*discoveryv1.EndpointSlice{slice}))
		})
	}
	for backends, want := range map[int]int{0: 1, 1: 1, 2: 16, 8: 64, 9: 64} {
		installtest.Same(t, fmt.Sprintf("calls for %d backends", backends), want, SampleSize(backends))
	}
}
