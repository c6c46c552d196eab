package rollout

import (
	"fmt"
	"slices"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/beginning"
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

// gap is what an installation lacks. The zero value means that it is complete.
type gap struct {
	what string
	// until is when that changes; zero if it is not known.
	until time.Time
	// ask are the kinds of webhook configurations about which API servers must be asked.
	ask webhookconfig.Kinds
}

func (v deploymentView) gap(f *facts) gap {
	if !v.progress.Complete() {
		return gap{what: fmt.Sprintf("deployment %s to become ready: %s", v.name, v.progress.Message)}
	}
	for _, w := range v.webhooks {
		if w.missing() {
			return gap{what: fmt.Sprintf("%s to be registered: %s", w.title(), w.message)}
		}
		if w.moving != "" {
			return gap{what: fmt.Sprintf("%s to be switched: %s", w.title(), w.moving)}
		}
	}
	if f.Policy.Gate == GateAvailable {
		return gap{}
	}
	var all gap
	for _, w := range v.webhooks {
		all = all.with(w.unobserved(f))
	}
	return all
}

// with adds a later gap.
func (g gap) with(other gap) gap {
	if g.what == "" {
		g.what, g.until = other.what, other.until
	}
	g.ask = g.ask.With(other.ask)
	return g
}

// unobserved is a gap until every API server calls the webhook. For conversions and APIServices, there is no proof.
func (w webhookView) unobserved(f *facts) gap {
	var kinds webhookconfig.Kinds
	var decision beginning.Decision
	switch w.Description.Type {
	case operatorsv1alpha1.ValidatingAdmissionWebhook:
		kinds.Validating, decision = true, f.Observed.APIServers.Validating.Decide(w.registered, f.Policy.Settle, f.now)
	case operatorsv1alpha1.MutatingAdmissionWebhook:
		kinds.Mutating, decision = true, f.Observed.APIServers.Mutating.Decide(w.registered, f.Policy.Settle, f.now)
	default:
		if settled := w.registered.Add(f.Policy.Settle); f.now.Before(settled) {
			decision = beginning.Decision{State: beginning.Waits, Until: settled}
		}
	}
	if decision.State == beginning.Observed {
		return gap{}
	}
	g := gap{what: fmt.Sprintf("%s to be known to %s", w.title(), decision.Reason()), until: decision.Until}
	if decision.State == beginning.Unasked {
		g.ask = kinds
	}
	return g
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
