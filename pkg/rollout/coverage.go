package rollout

import (
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// uncovered tells whether Namespaces of the scope lack the label by which a webhook would
// select them. An APIService selects none.
func (p *planner) uncovered(w render.Webhook) bool {
	return len(p.Observed.Uncovered) > 0 && !registration.IsAPIService(w)
}

// unlabelled says which Namespaces of the scope lack its label, and what keeps them from it.
func (p *planner) unlabelled() (reason, message string) {
	message = "namespaces of the OperatorGroup do not bear its label yet: " + strings.Join(p.Observed.Uncovered, ", ")
	if why := scope.RefusedLabels(p.Observed.Uncovered, p.Observed.Unlabelled); why != "" {
		message += "; " + why
	}
	return "NamespacesNotLabelled", message
}

// covering is the desired registration as it may be written now. While Namespaces of
// the scope lack its label, a live registration goes on selecting as it does: those
// that it covers today would be without it until they are labelled.
func (p *planner) covering(desired, live drift.Object) drift.Object {
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
