package judge

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// endpoints are the ready pods of one EndpointSlice.
type endpoints struct {
	service history.Ref
	pods    []history.Ref
}

func endpointsOf(content history.Object) endpoints {
	var slice discoveryv1.EndpointSlice
	if !into(content, &slice) {
		return endpoints{}
	}
	found := endpoints{service: history.Ref{Kind: "Service", Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}}
	for _, e := range slice.Endpoints {
		if ready := e.Conditions.Ready; e.TargetRef != nil && (ready == nil || *ready) {
			found.pods = append(found.pods, history.Ref{Kind: "Pod", Namespace: slice.Namespace, Name: e.TargetRef.Name})
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
		for _, name := range e.pods {
			if p, serves := c.pods[name]; serves {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b served) int { return compareRefs(a.Pod, b.Pod) })
	return all
}
