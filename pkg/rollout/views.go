package rollout

import (
	"fmt"
	"slices"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

type deploymentView struct {
	name     string
	progress workload.Progress
	webhooks []webhookView
}

type webhookView struct {
	render.Webhook
	configuration string
	state         managerv1alpha1.WebhookState
	reason        string
	message       string
	registered    time.Time // when it was first registered; zero if it is not
	moving        string    // why it is not called as desired yet
	gap           *managerv1alpha1.ConversionGap
}

func (w webhookView) live() bool { return !w.registered.IsZero() }

// Or an APIService is not available.
func (w webhookView) missing() bool {
	if registration.IsAPIService(w.Webhook) {
		return w.state != managerv1alpha1.WebhookRegistered
	}
	return !w.live() && w.state != managerv1alpha1.WebhookDisabled
}

// missing is empty if all is complete. until is when that changes; zero if it is not known.
func (v deploymentView) missing(p Policy, now time.Time) (what string, until time.Time) {
	if !v.progress.Complete() {
		return fmt.Sprintf("deployment %s to become ready: %s", v.name, v.progress.Message), time.Time{}
	}
	for _, w := range v.webhooks {
		if w.missing() {
			return fmt.Sprintf("%s to be registered: %s", w.title(), w.message), time.Time{}
		}
		if w.moving != "" {
			return fmt.Sprintf("%s to be switched: %s", w.title(), w.moving), time.Time{}
		}
	}
	for _, w := range v.webhooks {
		if settled := w.registered.Add(p.Settle); p.Gate != GateAvailable && now.Before(settled) {
			return fmt.Sprintf("%s to be known to every API server", w.title()), settled
		}
	}
	return "", time.Time{}
}

func (v deploymentView) refusal() string {
	if v.progress.Reason == managerv1alpha1.ReasonRefusedByAPIServer {
		return v.progress.Message
	}
	return lists.First(v.webhooks, func(w webhookView) bool { return w.reason == managerv1alpha1.ReasonRefusedByAPIServer }).message
}

// moving returns the state of a live webhook that is not called as desired yet.
func moving(view webhookView, reason, message string) webhookView {
	view.moving = message
	if view.state == managerv1alpha1.WebhookRegistered {
		view.reason, view.message = reason, message
	}
	return view
}

func (w webhookView) title() string {
	return managerv1alpha1.Title(w.Description.Type, w.Description.GenerateName)
}

func (v deploymentView) unavailable() string {
	for _, w := range v.webhooks {
		if registration.IsAPIService(w.Webhook) && w.missing() {
			return w.title() + ": " + w.message
		}
	}
	return ""
}

func waiting(w render.Webhook, reason, message string) webhookView {
	return webhookView{Webhook: w, state: managerv1alpha1.WebhookWaiting, reason: reason, message: message}
}

// has reports whether a webhook is listed already. A duplicate is reported once.
func (v deploymentView) has(of csvspec.Identity) bool {
	return slices.ContainsFunc(v.webhooks, func(w webhookView) bool { return csvspec.IdentityOf(w.Description) == of })
}

func (v deploymentView) missingForNext() string {
	if !v.progress.Complete() {
		return v.progress.Message
	}
	for _, w := range v.webhooks {
		if w.missing() {
			return fmt.Sprintf("%s: %s", w.title(), w.message)
		}
	}
	return ""
}
