package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

func (w webhookView) title() string {
	return managerv1alpha1.Title(w.Description.Type, w.Description.GenerateName)
}

// availability is the state of a live APIService: to be registered is not enough. One that
// has never been available is still waited for.
func (p *planner) availability(view webhookView) webhookView {
	if reason, message := p.unavailable(view.Webhook); reason != "" && view.state == managerv1alpha1.WebhookRegistered {
		view.state, view.reason, view.message = managerv1alpha1.WebhookUnreachable, reason, message
	}
	if view.state == managerv1alpha1.WebhookUnreachable && !p.wasRegistered(view.Webhook) {
		view.state = managerv1alpha1.WebhookWaiting
	}
	return view
}

// unavailable is why API servers do not pass requests on to a registered APIService; empty
// when they do. They see for themselves whether it answers, all the time.
func (p *planner) unavailable(w render.Webhook) (reason, message string) {
	live, ok := p.heldRegistration(w.Description).(*apiregistrationv1.APIService)
	if !ok {
		return "", ""
	}
	for _, c := range live.Status.Conditions {
		if c.Type == apiregistrationv1.Available && c.Status == apiregistrationv1.ConditionTrue {
			return p.unserved(w)
		}
		if c.Type == apiregistrationv1.Available {
			return cmp.Or(c.Reason, reasonUnavailable), c.Message
		}
	}
	return reasonUnavailable, "the API server has not found out yet whether it answers"
}

const reasonUnavailable = "NotAvailable"

// unserved is which kind an available APIService is to serve and does not. Nobody tells
// when that changes. Without an answer, what was registered before serves it.
func (p *planner) unserved(w render.Webhook) (reason, message string) {
	for _, owned := range csvspec.OwnedKinds(p.CSV, w.Description.GenerateName) {
		kind := schema.GroupVersionKind{Group: owned.Group, Version: owned.Version, Kind: owned.Kind}
		group := kind.GroupVersion()
		served, asked := p.Observed.Served[kind]
		if served || !asked {
			continue
		}
		p.lookAgain(p.now.Add(requirements.DiscoveryInterval(p.Observed.Announced[group], p.now)))
		switch {
		case !p.Observed.Undiscovered[group]:
			return "KindNotServed", fmt.Sprintf("deployment %s serves the version and not the kind %s: let it, or correct spec.apiservicedefinitions.owned", w.Description.DeploymentName, owned.Kind)
		case !p.wasRegistered(w):
			return "DiscoveryNotAnswered", requirements.NotDiscovered(group)
		}
	}
	return "", ""
}

// unavailable is which APIService of a Deployment API servers pass no requests on to, and
// why; empty when they do to all.
func (v deploymentView) unavailable() string {
	for _, w := range v.webhooks {
		if registration.IsAPIService(w.Webhook) && w.lacks() {
			return w.title() + ": " + w.message
		}
	}
	return ""
}

// reserves reports whether an object is an APIService of a group that no operator may serve.
func (o Observed) reserves(object drift.Object) bool {
	service, ok := object.(*apiregistrationv1.APIService)
	return ok && o.Reserved[service.Spec.Group]
}

// occupies reports whether a step registers an APIService that does not exist in a group that others
// serve.
func (o Observed) occupies(step Step) bool {
	service, ok := step.Object.(*apiregistrationv1.APIService)
	return ok && step.Verb == Create && o.Occupied[service.Spec.Group] != ""
}

// unregisterReserved removes APIServices of groups that no operator may serve: an API server asks
// them in place of the one that serves the group.
func (p *planner) unregisterReserved() {
	for _, live := range p.Observed.APIServices {
		if p.Observed.reserves(live) && p.theirs(live) == nil {
			p.take(Step{Verb: Delete, Object: live, Live: live})
		}
	}
}

// wantDelegation lets the server of APIServices ask who calls it.
func (p *planner) wantDelegation(d render.Deployment) {
	if d.AuthDelegator != nil {
		p.want(d.AuthDelegator, lookUp(p.Observed.AuthDelegators, d.AuthDelegator.Name))
		p.want(d.AuthReader, lookUp(p.Observed.AuthReaders, d.AuthReader.Name))
	}
}

// undelegateStale removes the bindings for servers of APIServices that are not declared any
// more: they have no owner with whom they would go.
func (p *planner) undelegateStale() {
	wanted := map[string]bool{}
	for _, d := range p.Desired.Deployments {
		if d.AuthDelegator != nil {
			wanted[drift.KeyOf(d.AuthDelegator)], wanted[drift.KeyOf(d.AuthReader)] = true, true
		}
	}
	for _, live := range p.Observed.delegations() {
		if !wanted[drift.KeyOf(live)] {
			p.take(Step{Verb: Delete, Object: live, Live: live})
		}
	}
}

// delegations are the live bindings for servers of APIServices, in the order of their names.
func (o Observed) delegations() []drift.Object {
	var all []drift.Object
	for _, name := range slices.Sorted(maps.Keys(o.AuthDelegators)) {
		all = append(all, o.AuthDelegators[name])
	}
	for _, name := range slices.Sorted(maps.Keys(o.AuthReaders)) {
		all = append(all, o.AuthReaders[name])
	}
	return all
}
