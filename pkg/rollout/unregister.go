package rollout

import (
	"slices"
	"strings"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/ending"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// unregister records the time, unless API servers call nothing because of the registration.
func (x *remover) unregister(live registration.Registration) {
	if x.plan.unregister(live.Object) && !render.IsCanary(live.Object) {
		x.unregistered = x.now
	}
}

func (x *remover) unregisterStale() {
	for _, live := range x.Observed.registrations() {
		if !x.declares(live) {
			x.unregister(live)
		}
	}
}

// API servers would call them instead of the server of the group.
func (x *remover) unregisterReserved() {
	for _, live := range x.Observed.APIServices {
		if x.Observed.isReserved(live) && x.Upgrade.olderOwner(live) == nil {
			x.plan.unregister(live)
		}
	}
}

// noteDeleted records changed registrations that finalizers keep: a Deployment that is not started waits for them.
func (x *remover) noteDeleted() {
	for _, live := range x.Observed.registrations() {
		if _, changed := x.changed(live); changed && live.Object.GetDeletionTimestamp() != nil {
			x.unregister(live)
		}
	}
}

func (x *remover) unregisterChanged(d render.Deployment) {
	for _, live := range x.Observed.registrations() {
		if x.changes(d, live) {
			x.unregister(live)
		}
	}
}

// changed reports whether a new version declares the webhook differently, and the Deployment that serves it now.
func (x *remover) changed(live registration.Registration) (servedBy string, changed bool) {
	older := x.Upgrade.olderOwner(live.Object)
	if older == nil {
		return "", false
	}
	change, servedBy := x.changeOf(older, live)
	return servedBy, change == render.Changed
}

// changes reports whether the rollout of a Deployment changes how a webhook is served.
func (x *remover) changes(d render.Deployment, live registration.Registration) bool {
	servedBy, changed := x.changed(live)
	return changed && (servedBy == d.Object.Name || registeredBy(d, live) != nil)
}

const startsUncalled = "starts when no API server calls the webhooks that it serves differently than in the previous version"

// awaitUnregistered returns why a Deployment must not be rolled out yet: a webhook that it does not serve as before is
// still registered, or some API server may not have observed the end of a registration.
func (x *remover) awaitUnregistered(d render.Deployment) (reason, message string) {
	reason, message = x.awaitEnd(d)
	if reason == "" && x.mayBeCalled(x.unregistered, x.Policy.Settle+recordPrecision) {
		return managerv1alpha1.ReasonUnregistering, startsUncalled
	}
	return reason, message
}

// awaitEnd is awaitUnregistered without the time after the end.
func (x *remover) awaitEnd(d render.Deployment) (reason, message string) {
	if stay := x.stillRegistered(d); len(stay) > 0 {
		return managerv1alpha1.ReasonStillRegistered, strings.Join(stay, "; ") + ". The Deployment " + startsUncalled
	}
	if x.waitedForRegistration(d) {
		x.unregistered = x.now
	}
	return "", ""
}

func (x *remover) stillRegistered(d render.Deployment) (why []string) {
	for _, live := range x.Observed.registrations() {
		if stays := x.plan.stays[drift.KeyOf(live.Object)]; stays != "" && (x.changes(d, live) || x.calls(live, d.Object.Name) && !render.IsCanary(live.Object)) {
			why = append(why, stays)
		}
	}
	return why
}

// waitedForRegistration reports whether the previous reconciliation observed a registration for which the Deployment waits.
func (x *remover) waitedForRegistration(d render.Deployment) bool {
	return slices.ContainsFunc(x.Previous.Deployments, func(before managerv1alpha1.DeploymentStatus) bool {
		return before.Name == d.Object.Name && before.Reason == managerv1alpha1.ReasonStillRegistered
	})
}

// mayBeCalled reports whether some API server may still call webhooks of which the last one was unregistered at a time.
func (x *remover) mayBeCalled(ended time.Time, settle time.Duration) bool {
	if x.Policy.Gate == GateAvailable || ended.IsZero() {
		return false
	}
	decision := ending.Wait{Ended: ended, Settle: settle, Found: x.HaveObserved}.Decide(x.now)
	switch decision.State {
	case ending.Unasked:
		x.plan.AskAPIServers = true
	case ending.Lasts:
		x.plan.requeue(decision.Until, decision.Reason)
	default:
	}
	return decision.State != ending.Over
}
