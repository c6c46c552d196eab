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

// callOf returns where API servers call a webhook, for the status. While no registration exists, it
// is where they called it last.
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

// conversionCallOf returns where API servers call a conversion webhook; empty if no definition names
// it, or if they call it in several ways, as during a change.
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

// isCalled reports whether API servers call a registration: a webhook configuration without rules, which
// waits for a delegated caBundle, is called for nothing.
func isCalled(live drift.Object) bool {
	if live == nil {
		return false
	}
	_, api := live.(*apiregistrationv1.APIService)
	return api || len(registration.RulesOf(live)) > 0
}

// lastCall returns where API servers called a webhook in the previous status; empty if it is not
// known.
func (f *facts) lastCall(d operatorsv1alpha1.WebhookDescription) string {
	if before := f.previousStatus(d); before != nil {
		return before.Calls
	}
	return ""
}

// isCalledOtherwise reports whether API servers call a webhook at another Service, port or path
// than its description names. Without a registration, the last known call counts, because another
// client may have deleted the registration after an edit. An unknown call is another one.
func (f *facts) isCalledOtherwise(w render.Webhook) bool {
	if w.Description.Type == operatorsv1alpha1.ConversionWebhook {
		return slices.ContainsFunc(w.Conversions, func(c render.Conversion) bool {
			live := f.Observed.CRDs[c.CRD]
			if live == nil || !conversion.Calls(live, c) {
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
