package rollout

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/reachability"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

type reporter struct {
	*facts
	*outcome
	plan *planBuilder
}

// refusalPause is for causes without a watch, as a quota or an admission policy.
const refusalPause = time.Minute

func (r *reporter) report() {
	status := managerv1alpha1.WebhookRolloutStatus{
		ObservedGeneration: r.CSV.Generation,
		Provider:           cmp.Or(r.Provider, managerv1alpha1.ProviderManager),
		Conditions:         slices.Clone(r.Previous.Conditions),
	}
	if r.Config.Subscription != "" {
		status.Subscription = &managerv1alpha1.SubscriptionReference{Name: r.Config.Subscription, Generation: r.Config.Generation}
	}
	limit := r.messageLimit()
	for _, d := range r.deployments {
		reported := r.reportDeployment(d, limit)
		if c := reported.Certificate; c != nil && c.NotAfter != nil && (status.CertificateExpirationTime == nil || c.NotAfter.Before(status.CertificateExpirationTime)) {
			status.CertificateExpirationTime = c.NotAfter
		}
		for _, w := range reported.Registrations() {
			if w.State != managerv1alpha1.WebhookDisabled {
				status.Registrations++
			}
			if w.State == managerv1alpha1.WebhookRegistered {
				status.ReadyRegistrations++
			}
		}
		status.Deployments = append(status.Deployments, reported)
	}

	facts := r.phaseFacts()
	r.plan.Phases = phase.Transitions(phase.Of(r.CSV.Status), facts)
	r.reportUpgrade(&status)
	r.setConditions(&status, facts)
	if len(r.Observed.Refused) > 0 {
		r.plan.requeue(r.now.Add(refusalPause), "the API server refused a write")
	}
	status.KeptOpenings = r.keptOpenings()
	r.plan.Status = status
}

// All messages together have 256 KiB, or 100 bytes each: they may be alike, and etcd accepts 1.5 MiB.
func (r *reporter) messageLimit() int {
	texts := 0
	for _, d := range r.deployments {
		texts += 1 + len(d.webhooks)
	}
	return max(256<<10/max(texts, 1), 100)
}

func (r *reporter) reportDeployment(d deploymentView, limit int) managerv1alpha1.DeploymentStatus {
	reported := managerv1alpha1.DeploymentStatus{
		Name: d.name, State: d.progress.State, Reason: d.progress.Reason,
		Message: csvstatus.Shorten(d.progress.Message, limit, ""),
	}
	if certificate, ok := r.Certificates[d.name]; ok {
		reported.Certificate = &certificate
	}
	for _, w := range d.webhooks {
		message := csvstatus.Shorten(w.message, limit, "")
		since := metav1.NewTime(r.sinceOf(w.Description, w.state))
		if registration.IsAPIService(w.Webhook) {
			reported.APIServices = append(reported.APIServices, managerv1alpha1.APIServiceStatus{
				Name: w.Description.GenerateName, State: w.state, Reason: w.reason, Message: message, LastTransitionTime: &since,
				Lost: !w.live() && w.configuration != "",
			})
			continue
		}
		seen := r.interception(w.Webhook)
		var unreachableFrom []managerv1alpha1.UnreachableFrom
		if w.live() {
			unreachableFrom = reachability.From(r.Observed.Calls, w.Description, r.previousStatus(w.Description))
		}
		reported.Webhooks = append(reported.Webhooks, managerv1alpha1.WebhookStatus{
			Type: w.Description.Type, GenerateName: w.Description.GenerateName,
			Intercepts: seen.Text, BeyondScope: seen.BeyondScope, Exempt: seen.Exempt,
			Configuration: w.configuration, CRDs: lists.Distinct(w.Description.ConversionCRDs), Calls: r.callOf(w.Description),
			State: w.state, Reason: w.reason, Message: message, LastTransitionTime: &since, LastGap: w.gap,
			FailOpen: r.failOpenOf(w.Description), UnreachableFrom: unreachableFrom,
		})
	}
	return reported
}

// Nothing is rendered for a blocked webhook, so its previous value stays.
func (r *reporter) interception(w render.Webhook) render.Interception {
	if before := r.previousStatus(w.Description); w.Interception.Text == "" && before != nil {
		return render.Interception{Text: before.Intercepts, BeyondScope: before.BeyondScope, Exempt: before.Exempt}
	}
	return w.Interception
}

func (r *reporter) reportUpgrade(status *managerv1alpha1.WebhookRolloutStatus) {
	if len(r.Upgrade.From) == 0 {
		return
	}
	status.Upgrade = &managerv1alpha1.UpgradeStatus{From: r.Upgrade.names()}
	if !r.unregistered.IsZero() {
		status.Upgrade.LastUnregistrationTime = new(metav1.NewTime(r.unregistered))
	}
}

// reportDeletionBlocked keeps the previous status with new certificates, or reports the Deployments.
func (r *reporter) reportDeletionBlocked() {
	r.plan.Status = *r.Previous.DeepCopy()
	r.plan.Status.KeptOpenings = r.keptOpenings()
	meta.RemoveStatusCondition(&r.plan.Status.Conditions, managerv1alpha1.ConditionCallsFail)
	if len(r.plan.Status.Deployments) == 0 {
		limit := r.messageLimit()
		for _, d := range r.deployments {
			r.plan.Status.Deployments = append(r.plan.Status.Deployments, r.reportDeployment(d, limit))
		}
	}
	for i, d := range r.plan.Status.Deployments {
		if certificate, ok := r.Certificates[d.Name]; ok {
			r.plan.Status.Deployments[i].Certificate = &certificate
		}
		for j, w := range d.Webhooks {
			d.Webhooks[j].FailOpen = r.failOpenOf(operatorsv1alpha1.WebhookDescription{Type: w.Type, GenerateName: w.GenerateName})
			d.Webhooks[j].UnreachableFrom = nil // It may be unregistered.
		}
	}
}

// keptOpenings returns the kept records that no decision continues.
func (r *reporter) keptOpenings() []managerv1alpha1.KeptOpenings {
	return lists.Filter(r.Previous.KeptOpenings, func(k managerv1alpha1.KeptOpenings) bool {
		_, decided := r.plan.FailOpen[csvspec.Identity{Type: k.Type, GenerateName: k.GenerateName}]
		return !decided
	})
}
