package judge

import (
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// endpoints are the ready pods of one EndpointSlice, with the time since which it lists them.
type endpoints struct {
	service history.Ref
	pods    map[history.Ref]time.Time
}

func endpointsOf(content history.Object, before endpoints, now time.Time) endpoints {
	var slice discoveryv1.EndpointSlice
	if !into(content, &slice) {
		return endpoints{}
	}
	found := endpoints{pods: map[history.Ref]time.Time{}, service: history.Ref{Kind: "Service", Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}}
	for _, e := range slice.Endpoints {
		if ready := e.Conditions.Ready; e.TargetRef != nil && (ready == nil || *ready) {
			pod := history.Ref{Kind: "Pod", Namespace: slice.Namespace, Name: e.TargetRef.Name}
			found.pods[pod] = now
			if since, listed := before.pods[pod]; listed {
				found.pods[pod] = since
			}
		}
	}
	return found
}

// serving returns the pods that serve and that a call of a Service may reach, by name.
func (c *cluster) serving(service history.Ref) []served {
	var all []served
	for _, e := range c.endpoints {
		if e.service != service.Key() {
			continue
		}
		for name, since := range e.pods {
			if p, serves := c.pods[name]; serves {
				p.listed = since
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b served) int { return compareRefs(a.Pod, b.Pod) })
	return all
}
