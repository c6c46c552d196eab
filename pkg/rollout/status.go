package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// refusalPause is when to try again what the API server refused. What made it refuse,
// a quota or somebody's admission policy, may change without the manager seeing it.
const refusalPause = time.Minute

// report turns what the decision came to into words.
func (p *planner) report() {
	status := managerv1alpha1.WebhookRolloutStatus{
		ObservedGeneration: p.CSV.Generation,
		Provider:           cmp.Or(p.Provider, managerv1alpha1.ProviderManager),
		Conditions:         slices.Clone(p.Previous.Conditions),
	}
	if p.Config.Subscription != "" {
		status.Subscription = &managerv1alpha1.SubscriptionReference{Name: p.Config.Subscription, Generation: p.Config.Generation}
	}
	declared, reachable, limit := 0, 0, p.messageLimit()
	for _, d := range p.deployments {
		reported := p.reportDeployment(d, limit)
		if c := reported.Certificate; c != nil && c.NotAfter != nil && (status.CertificatesExpire == nil || c.NotAfter.Before(status.CertificatesExpire)) {
			status.CertificatesExpire = c.NotAfter
		}
		for _, w := range reported.Registrations() {
			if w.State != managerv1alpha1.WebhookDisabled {
				declared++
			}
			if w.State == managerv1alpha1.WebhookRegistered {
				reachable++
			}
		}
		status.Deployments = append(status.Deployments, reported)
	}
	status.Ready = fmt.Sprintf("%d/%d", reachable, declared)

	facts := p.facts()
	p.plan.Phases = phase.Transitions(phase.Of(p.CSV.Status), facts)
	p.reportUpgrade(&status)
	p.setReady(&status, facts)
	p.setRelaxed(&status)
	p.setRejected(&status)
	p.setContested(&status)
	p.setAdmitted(&status)
	p.setConfigRefused(&status)
	p.setRulesMatchNothing(&status)
	SetConversionInUse(&status, p.inUse, p.CSV.Generation, p.now)
	if len(p.Observed.Refused) > 0 {
		p.lookAgain(p.now.Add(refusalPause))
	}
	p.plan.Status = status
}

// messageLimit returns how many bytes the message of each Deployment, webhook and APIService has at most.
// Together they have 256 KiB, or 100 bytes each: etcd takes 1.5 MiB for an object by default, and one cause
// may stand in each of them.
func (p *planner) messageLimit() int {
	told := 0
	for _, d := range p.deployments {
		told += 1 + len(d.webhooks)
	}
	return max(256<<10/max(told, 1), 100)
}

func (p *planner) reportDeployment(d deploymentView, limit int) managerv1alpha1.DeploymentStatus {
	reported := managerv1alpha1.DeploymentStatus{
		Name: d.name, State: d.progress.State, Reason: d.progress.Reason,
		Message: csvstatus.Shorten(d.progress.Message, limit, ""),
	}
	if certificate, ok := p.Certificates[d.name]; ok {
		reported.Certificate = &certificate
		if certificate.NextLook != nil {
			p.lookAgain(certificate.NextLook.Time)
		}
	}
	for _, w := range d.webhooks {
		message := csvstatus.Shorten(w.message, limit, "")
		since := metav1.NewTime(p.sinceOf(w.Description, w.state))
		if registration.IsAPIService(w.Webhook) {
			reported.APIServices = append(reported.APIServices, managerv1alpha1.APIServiceStatus{
				Name: w.Description.GenerateName, State: w.state, Reason: w.reason, Message: message, Since: &since,
				Lost: !w.live() && w.configuration != "",
			})
			continue
		}
		seen := p.interception(w.Webhook)
		reported.Webhooks = append(reported.Webhooks, managerv1alpha1.WebhookStatus{
			Type: w.Description.Type, GenerateName: w.Description.GenerateName,
			Intercepts: seen.Text, BeyondScope: seen.BeyondScope, Exempt: seen.Exempt,
			Configuration: w.configuration, CRDs: eachOnce(w.Description.ConversionCRDs),
			State: w.state, Reason: w.reason, Message: message, Since: &since, LastGap: w.gap,
		})
	}
	return reported
}

// eachOnce returns names without repetitions, in their order: the status is also written where it is
// a mistake to name one twice.
func eachOnce(names []string) []string {
	known := make(map[string]bool, len(names))
	var all []string
	for _, name := range names {
		if !known[name] {
			known[name] = true
			all = append(all, name)
		}
	}
	return all
}

// interception is what a webhook sees of people's requests. Of one that is held nothing is
// rendered: what was said of it stays.
func (p *planner) interception(w render.Webhook) render.Interception {
	if before := p.before(w.Description); w.Interception.Text == "" && before != nil {
		return render.Interception{Text: before.Intercepts, BeyondScope: before.BeyondScope, Exempt: before.Exempt}
	}
	return w.Interception
}

func (p *planner) setReady(status *managerv1alpha1.WebhookRolloutStatus, f phase.Facts) {
	ready := metav1.Condition{Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "AllWebhooksServe", Message: "every declared webhook is registered and reachable"}
	for _, d := range status.Deployments {
		for _, w := range d.Registrations() {
			if w.State != managerv1alpha1.WebhookRegistered && w.State != managerv1alpha1.WebhookDisabled && ready.Status == metav1.ConditionTrue {
				ready.Status, ready.Reason = metav1.ConditionFalse, w.Reason
				ready.Message = strings.TrimSpace(fmt.Sprintf("%s is %s: %s", managerv1alpha1.Title(w.Type, w.GenerateName), w.State, w.Message))
			}
		}
	}
	switch {
	case f.Failure != nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, string(f.Failure.Reason), f.Failure.Message
	case f.NotUpgradeable != "":
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, string(phase.NotUpgradeable.Reason), f.NotUpgradeable
	case f.Unmet != "":
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, string(phase.Unmet.Reason), f.Unmet
	case f.NotReady != "":
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "WaitsForReplaced", f.NotReady
	case f.Awaits != "":
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, reasonVersionAwaited, "waits for "+f.Awaits
	}
	p.setCondition(status, ready)
}

func (p *planner) setRelaxed(status *managerv1alpha1.WebhookRolloutStatus) {
	if p.relaxed == "" {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionOrderRelaxed)
		return
	}
	p.setCondition(status, metav1.Condition{Type: managerv1alpha1.ConditionOrderRelaxed, Status: metav1.ConditionTrue, Reason: "OrderRelaxed", Message: p.relaxed})
}

func (p *planner) setContested(status *managerv1alpha1.WebhookRolloutStatus) {
	var messages []string
	for key, contest := range p.Observed.Contests {
		for _, at := range contest.ChangesAt(p.now) {
			p.lookAgain(at)
		}
		if message := contest.Message(key, p.now); message != "" {
			messages = append(messages, message)
		}
	}
	if len(messages) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionContested)
		return
	}
	slices.Sort(messages)
	p.setCondition(status, metav1.Condition{Type: managerv1alpha1.ConditionContested, Status: metav1.ConditionTrue, Reason: "Contested", Message: strings.Join(messages, "; ")})
}

// setAdmitted says what admission changed. A version that is held compares nothing: what was said
// of it stays.
func (p *planner) setAdmitted(status *managerv1alpha1.WebhookRolloutStatus) {
	if !p.compares {
		return
	}
	if len(p.admitted) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionChangedByAdmission)
		return
	}
	p.setCondition(status, metav1.Condition{
		Type: managerv1alpha1.ConditionChangedByAdmission, Status: metav1.ConditionTrue, Reason: managerv1alpha1.ConditionChangedByAdmission,
		Message: strings.Join(p.admitted, "; ") + ". A mutating webhook or a MutatingAdmissionPolicy changes what the manager writes, and the manager accepts it. " +
			"To have the fields as the ClusterServiceVersion describes them, exclude the object from that webhook or policy",
	})
}

func (p *planner) setCondition(status *managerv1alpha1.WebhookRolloutStatus, c metav1.Condition) {
	c.Message = csvstatus.Shorten(c.Message, csvstatus.MaxCondition, "")
	c.ObservedGeneration = p.CSV.Generation
	c.LastTransitionTime = metav1.NewTime(p.now)
	meta.SetStatusCondition(&status.Conditions, c)
}

// SetConversionInUse says that conversions which should end cannot yet; an empty
// message that there are none.
func SetConversionInUse(status *managerv1alpha1.WebhookRolloutStatus, message string, generation int64, now time.Time) {
	if message == "" {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionConversionInUse)
		return
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: managerv1alpha1.ConditionConversionInUse, Status: metav1.ConditionTrue, Reason: managerv1alpha1.ConditionConversionInUse,
		Message: csvstatus.Shorten(message, csvstatus.MaxCondition, ""), ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}
