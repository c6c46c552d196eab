package rollout

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// disable keeps a webhook out of service that the administrator has switched off. What
// serves it stays as it is, so that it comes back as soon as it is switched on.
func (p *planner) disable(w render.Webhook, live drift.Object) webhookView {
	if live != nil {
		p.take(Step{Verb: Delete, Object: live, Live: live})
	}
	return webhookView{
		Webhook: w, state: managerv1alpha1.WebhookDisabled, reason: "SwitchedOff",
		message: fmt.Sprintf("annotation %s in the config of Subscription %s names it", wellknown.AnnotationDisabledWebhooks, p.Config.Subscription),
	}
}

// setConfigRefused says which parts of the Subscription's config are not followed.
func (p *planner) setConfigRefused(status *managerv1alpha1.WebhookRolloutStatus) {
	refusals := p.Config.Refusals(p.CSV)
	if len(refusals) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionConfigRefused)
		return
	}
	p.setCondition(status, metav1.Condition{
		Type: managerv1alpha1.ConditionConfigRefused, Status: metav1.ConditionTrue, Reason: managerv1alpha1.ConditionConfigRefused,
		Message: strings.Join(refusals, "; "),
	})
}
