package rollout

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

func (r *reporter) setReady(status *managerv1alpha1.WebhookRolloutStatus, f phase.Facts) {
	ready := metav1.Condition{Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: managerv1alpha1.ReasonAllWebhooksServe, Message: "every declared webhook is registered and reachable"}
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
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, managerv1alpha1.ReasonWaitsForReplaced, f.NotReady
	case f.AwaitedVersions != "":
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, managerv1alpha1.ReasonVersionAwaited, "waits for "+f.AwaitedVersions
	}
	r.setCondition(status, ready)
}

func (r *reporter) setRelaxed(status *managerv1alpha1.WebhookRolloutStatus) {
	if r.relaxed == "" {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionOrderRelaxed)
		return
	}
	r.setCondition(status, metav1.Condition{Type: managerv1alpha1.ConditionOrderRelaxed, Status: metav1.ConditionTrue, Reason: managerv1alpha1.ConditionOrderRelaxed, Message: r.relaxed})
}

func (r *reporter) setContested(status *managerv1alpha1.WebhookRolloutStatus) {
	var messages []string
	for key, contest := range r.Observed.Contests {
		for _, at := range contest.ChangesAt(r.now) {
			r.plan.requeue(at, "another client reverts repairs")
		}
		if message := contest.Message(key, r.now); message != "" {
			messages = append(messages, message)
		}
	}
	if len(messages) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionContested)
		return
	}
	slices.Sort(messages)
	r.setCondition(status, metav1.Condition{Type: managerv1alpha1.ConditionContested, Status: metav1.ConditionTrue, Reason: managerv1alpha1.ConditionContested, Message: strings.Join(messages, "; ")})
}

// setAdmitted reports what admission changed. Nothing is compared for a blocked version, so its
// previous condition stays.
func (r *reporter) setAdmitted(status *managerv1alpha1.WebhookRolloutStatus) {
	if !r.compares {
		return
	}
	if len(r.plan.admitted) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionChangedByAdmission)
		return
	}
	r.setCondition(status, metav1.Condition{
		Type: managerv1alpha1.ConditionChangedByAdmission, Status: metav1.ConditionTrue, Reason: managerv1alpha1.ConditionChangedByAdmission,
		Message: strings.Join(r.plan.admitted, "; ") + ". A mutating webhook or a MutatingAdmissionPolicy changes what the manager writes, and the manager accepts it. " +
			"To have the fields as the ClusterServiceVersion describes them, exclude the object from that webhook or policy",
	})
}

func (r *reporter) setCondition(status *managerv1alpha1.WebhookRolloutStatus, c metav1.Condition) {
	c.Message = csvstatus.Shorten(c.Message, csvstatus.MaxCondition, "")
	c.ObservedGeneration = r.CSV.Generation
	c.LastTransitionTime = metav1.NewTime(r.now)
	meta.SetStatusCondition(&status.Conditions, c)
}

// setRejected reports what issuers issued that cannot be served. Pods keep the previous certificate
// until it expires.
func (r *reporter) setRejected(status *managerv1alpha1.WebhookRolloutStatus) {
	var reasons, messages []string
	for _, d := range status.Deployments {
		if d.Certificate != nil && d.Certificate.Rejected != nil {
			reasons = append(reasons, d.Certificate.Rejected.Reason)
			messages = append(messages, d.Certificate.Rejected.Message)
		}
	}
	if len(messages) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionCertificateRejected)
		return
	}
	r.setCondition(status, metav1.Condition{
		Type: managerv1alpha1.ConditionCertificateRejected, Status: metav1.ConditionTrue, Reason: reasons[0], Message: strings.Join(messages, "; "),
	})
}

func (r *reporter) setConfigRefused(status *managerv1alpha1.WebhookRolloutStatus) {
	refusals := r.Config.Refusals(r.CSV)
	if len(refusals) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionConfigRefused)
		return
	}
	r.setCondition(status, metav1.Condition{
		Type: managerv1alpha1.ConditionConfigRefused, Status: metav1.ConditionTrue, Reason: managerv1alpha1.ConditionConfigRefused,
		Message: strings.Join(refusals, "; "),
	})
}

// setRulesMatchNothing reports rules for resources that the API server does not serve. The
// registration stays, because they may be served later.
func (r *reporter) setRulesMatchNothing(status *managerv1alpha1.WebhookRolloutStatus) {
	var messages []string
	for i, d := range r.CSV.Spec.WebhookDefinitions[:csvspec.WebhooksWithinLimit(r.CSV)] {
		if d.Type == operatorsv1alpha1.ConversionWebhook {
			continue
		}
		if len(messages) > mostUnmatched {
			break
		}
		for _, u := range rules.Mismatches(d, r.Observed.Catalog) {
			messages = append(messages, fmt.Sprintf("webhook %s is not called for spec.webhookdefinitions[%d].rules[%d]: %s; %s", d.GenerateName, i, u.Rule, u.What, u.WayOut))
		}
	}
	if len(messages) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, managerv1alpha1.ConditionRulesMatchNothing)
		return
	}
	r.setCondition(status, metav1.Condition{
		Type: managerv1alpha1.ConditionRulesMatchNothing, Status: metav1.ConditionTrue, Reason: managerv1alpha1.ConditionRulesMatchNothing,
		Message: bounded(strings.Join(messages, "; ")),
	})
}

// mostUnmatched limits the rules that are explained. The message has room for fewer.
const mostUnmatched = 100

// bounded cuts a message to the length that the API server accepts.
func bounded(message string) string {
	const longest = 8000
	if len(message) <= longest {
		return message
	}
	return strings.ToValidUTF8(message[:longest], "") + "..."
}
