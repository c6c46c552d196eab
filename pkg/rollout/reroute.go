package rollout

import (
	"fmt"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// reroute decides about a live webhook whose description names another path than before. API
// servers call the previous path until the new one is served: one that is not would refuse
// every request. A path that another client wrote into the registration is repaired at once.
func (p *planner) reroute(d install.Deployment, w install.Webhook, live Object, backend progress) (view webhookView, decided bool) {
	desired := registrationOf(w)
	if p.Policy.Gate != GateServing || pathOf(desired) == pathOf(live) || hashLabelOf(desired) == hashLabelOf(live) {
		return webhookView{}, false
	}
	reason, message := p.obstacle(d, w, backend)
	if reason == "" {
		return webhookView{}, false
	}
	p.keep(alongPath(desired, live), live)
	view = p.reachability(d, w, live.GetName(), p.handedOver(w, p.bornAt(live)), backend)
	return moving(view, reason, fmt.Sprintf("path %q is called until %q is served: %s", pathOf(live), pathOf(desired), message)), true
}

// pathOf is the path that a registration calls.
func pathOf(o Object) string {
	if service := serviceOf(o); service != nil && service.Path != nil {
		return *service.Path
	}
	return ""
}

func hashLabelOf(o Object) string { return o.GetLabels()[vocabulary.LabelWebhookHash] }

// alongPath is a desired registration that calls the path of the live one, and still bears the
// label of the description that named it.
func alongPath(desired, live Object) Object {
	kept := desired.DeepCopyObject().(Object)
	if service := serviceOf(kept); service != nil {
		path := pathOf(live)
		service.Path = &path
	}
	labels := kept.GetLabels()
	labels[vocabulary.LabelWebhookHash] = hashLabelOf(live)
	kept.SetLabels(labels)
	return kept
}
