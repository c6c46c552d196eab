package backends

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// What is said of all backends must have been found out of all.
func TestUnsampled(t *testing.T) {
	type service = corev1.ServiceSpec
	for name, test := range map[string]struct {
		service  corev1.ServiceSpec
		backends int
		ready    int
		edited   bool
		says     string
	}{
		"all are ready":             {backends: 2, ready: 2},
		"as many as can be":         {backends: 8, ready: 8},
		"too many":                  {backends: 9, ready: 9, says: "more than 8"},
		"one is not ready":          {backends: 2, ready: 1, says: "pod-1 is not ready"},
		"clients are kept to one":   {service: service{SessionAffinity: corev1.ServiceAffinityClientIP}, backends: 1, ready: 1, says: "session affinity"},
		"clients are not":           {service: service{SessionAffinity: corev1.ServiceAffinityNone}, backends: 1, ready: 1},
		"those of the node":         {service: service{InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyLocal)}, backends: 1, ready: 1, says: "prefers"},
		"those of the cluster":      {service: service{InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyCluster)}, backends: 1, ready: 1},
		"those of the zone first":   {service: service{TrafficDistribution: new("PreferClose")}, backends: 1, ready: 1, says: "prefers"},
		"it leads to other pods":    {backends: 2, ready: 2, edited: true, says: "does not lead where it should"},
		"nobody is ready or is not": {},
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
			asked := service.DeepCopy()
			if test.edited {
				service.Spec.Selector = map[string]string{"app": "other"}
			}
			got := SamplingObstacle(service, asked, backends, []*discoveryv1.EndpointSlice{slice})
			if !strings.Contains(got, test.says) || test.says == "" && got != "" {
				t.Errorf("says %q, want %q", got, test.says)
			}
		})
	}
	for backends, want := range map[int]int{0: 1, 1: 1, 2: 16, 8: 64, 9: 64} {
		if got := SampleSize(backends); got != want {
			t.Errorf("%d calls for %d backends, want %d", got, backends, want)
		}
	}
}
