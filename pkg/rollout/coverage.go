package rollout

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// covering is the desired registration as it may be written now. While Namespaces of
// the scope lack its label, a live registration goes on selecting as it does: those
// that it covers today would be without it until they are labelled.
func (p *planner) covering(desired, live Object) Object {
	if len(p.Observed.Uncovered) == 0 {
		return desired
	}
	switch live := live.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		if len(live.Webhooks) > 0 {
			held := desired.DeepCopyObject().(*admissionregistrationv1.ValidatingWebhookConfiguration)
			held.Webhooks[0].NamespaceSelector = live.Webhooks[0].NamespaceSelector
			return held
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		if len(live.Webhooks) > 0 {
			held := desired.DeepCopyObject().(*admissionregistrationv1.MutatingWebhookConfiguration)
			held.Webhooks[0].NamespaceSelector = live.Webhooks[0].NamespaceSelector
			return held
		}
	}
	return desired
}
