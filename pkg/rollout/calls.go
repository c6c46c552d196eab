package rollout

import (
	"slices"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// callOf returns, while no registration exists, where API servers called last.
func (f *facts) callOf(d operatorsv1alpha1.WebhookDescription) string {
	called := ""
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		called = f.conversionCallOf(d)
	} else if live := f.liveRegistration(d); isCalled(live) {
		called = registration.CallOf(live)
	}
	if called == "" {
		return f.lastCall(d)
	}
	return called
}

// conversionCallOf is empty if no definition names it, or if they call it in several ways, as during a change.
func (f *facts) conversionCallOf(d operatorsv1alpha1.WebhookDescription) string {
	called := ""
	for _, name := range d.ConversionCRDs {
		crd := f.Observed.CRDs[name]
		if crd == nil || !f.convertedHere(crd) {
			continue
		}
		at := conversion.CallOf(crd.Spec.Conversion)
		if called != "" && at != called {
			return ""
		}
		called = at
	}
	return called
}

// A webhook configuration without rules, which waits for a delegated caBundle, is called for nothing.
func isCalled(live drift.Object) bool {
	if live == nil {
		return false
	}
	_, api := live.(*apiregistrationv1.APIService)
	return api || len(registration.RulesOf(live)) > 0
}

// lastCall is empty if the previous status does not know it.
func (f *facts) lastCall(d operatorsv1alpha1.WebhookDescription) string {
	if before := f.previousStatus(d); before != nil {
		return before.Calls
	}
	return ""
}

// Without a registration, which another client may have deleted, the last known call counts. An unknown call differs.
func (f *facts) isCalledOtherwise(w render.Webhook) bool {
	if w.Description.Type == operatorsv1alpha1.ConversionWebhook {
		return slices.ContainsFunc(w.Conversions, func(c render.Conversion) bool {
			if f.notNamed(c) {
				return f.lastCall(w.Description) != conversion.CallOf(&c.Spec)
			}
			return f.conversionRouteEdited(c)
		})
	}
	live := f.registered(w)
	if !isCalled(live) {
		return f.lastCall(w.Description) != registration.CallOf(w.Registration)
	}
	return !registration.CallSameService(w.Registration, live) || registration.RouteOf(w.Registration) != registration.RouteOf(live)
}
