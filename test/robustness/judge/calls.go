package judge

import (
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// noCallFails is I5. Calls of what the manager has not written are not its own.
func noCallFails(c *cluster, e history.Event, report reporter) {
	if call := e.Call; call != nil && call.Outcome == history.Failed && c.managed[call.Registration.Key()] && !c.holds(history.Outage, call.Sent, c.involved(*call)...) {
		report(call.Registration, "a call of %s from API server %q failed: %s", call.Webhook, call.APIServer, call.Error)
	}
}

// involved returns the registration of a call, and the pods that could have received it.
func (c *cluster) involved(call history.Call) []history.Ref {
	all := []history.Ref{call.Registration, call.Service, call.Pod}
	for _, r := range c.registrationsOf(call.Registration, c.objects[call.Registration.Key()]) {
		for _, p := range c.serving(r.service) {
			all = append(all, p.Pod)
		}
	}
	return all
}

// keepsBackends is I12.
func keepsBackends(c *cluster, e history.Event, report reporter) {
	call := e.Call
	if call == nil || call.Outcome != history.Failed || !slices.Contains(ofBackends, call.About.Kind) || !c.managed[call.Registration.Key()] {
		return
	}
	r, exists := find(c.registrationsOf(call.Registration, c.objects[call.Registration.Key()]), call.Webhook)
	if exists && r.service.Namespace == call.About.Namespace && len(c.serving(r.service)) == 0 {
		report(call.Registration, "%s intercepts %s of its own namespace while no pod of it serves", call.Webhook, call.About.Kind)
	}
}

// ofBackends are the kinds without which no pod starts.
var ofBackends = []string{"Deployment", "ReplicaSet", "Pod", "EndpointSlice"}
