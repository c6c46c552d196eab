package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/reachability"
)

// SetCondition defaults to the status True and the type as reason. Without a message, it removes the condition.
func SetCondition(status *managerv1alpha1.WebhookRolloutStatus, c metav1.Condition, generation int64, now time.Time) {
	if c.Message == "" {
		meta.RemoveStatusCondition(&status.Conditions, c.Type)
		return
	}
	c.Status, c.Reason = cmp.Or(c.Status, metav1.ConditionTrue), cmp.Or(c.Reason, c.Type)
	c.Message = csvstatus.Shorten(c.Message, csvstatus.MaxCondition, "")
	c.ObservedGeneration = generation
	c.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&status.Conditions, c)
}

// Nothing is compared for a blocked version, so its previous condition about admission stays. So does that about calls until the
// first metrics of API servers are read.
func (r *reporter) setConditions(status *managerv1alpha1.WebhookRolloutStatus, f phase.Facts) {
	conditions := []metav1.Condition{
		ready(*status, f),
		{Type: managerv1alpha1.ConditionOrderRelaxed, Message: r.relaxed},
		rejected(*status),
		{Type: managerv1alpha1.ConditionContested, Message: r.contested()},
		{Type: managerv1alpha1.ConditionUnregistrationRefused, Message: r.unregistrationRefused()},
		{Type: managerv1alpha1.ConditionInstallerForbidden, Message: strings.Join(lists.Sorted(lists.ByKey(r.Observed.Forbidden)), "; ")},
	}
	if r.Observed.Calls.Complete {
		conditions = append(conditions, reachability.Condition(r.Observed.Calls, *status))
	}
	if r.compares {
		conditions = append(conditions, metav1.Condition{Type: managerv1alpha1.ConditionChangedByAdmission, Message: r.changedByAdmission()})
	}
	conditions = append(conditions,
		metav1.Condition{Type: managerv1alpha1.ConditionConfigRefused, Message: strings.Join(slices.Concat(r.Config.Refusals(r.CSV), r.cannotOpen, r.refusedBudgets), "; ")},
		metav1.Condition{Type: managerv1alpha1.ConditionRulesMatchNothing, Message: r.rulesMatchNothing()},
		metav1.Condition{Type: managerv1alpha1.ConditionConversionInUse, Message: r.inUse},
		metav1.Condition{Type: managerv1alpha1.ConditionVersionsHeld, Message: conversion.VersionsHeld(r.Observed.CRDs, r.Verdict.Held)})
	for _, c := range conditions {
		SetCondition(status, c, r.CSV.Generation, r.now)
	}
}

func ready(status managerv1alpha1.WebhookRolloutStatus, f phase.Facts) metav1.Condition {
	not := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	switch {
	case f.Failure != nil:
		return not(string(f.Failure.Reason), f.Failure.Message)
	case f.NotUpgradeable != "":
		return not(string(phase.NotUpgradeable.Reason), f.NotUpgradeable)
	case f.Unmet != "":
		return not(string(phase.Unmet.Reason), f.Unmet)
	case f.NotReady != "":
		return not(managerv1alpha1.ReasonWaitsForReplaced, f.NotReady)
	case f.AwaitedVersions != "":
		return not(managerv1alpha1.ReasonVersionAwaited, "waits for "+f.AwaitedVersions)
	}
	for _, d := range status.Deployments {
		for _, w := range d.Registrations() {
			if w.State != managerv1alpha1.WebhookRegistered && w.State != managerv1alpha1.WebhookDisabled {
				return not(w.Reason, strings.TrimSpace(fmt.Sprintf("%s is %s: %s", managerv1alpha1.Title(w.Type, w.GenerateName), w.State, w.Message)))
			}
		}
	}
	return metav1.Condition{Type: managerv1alpha1.ConditionReady, Reason: managerv1alpha1.ReasonAllWebhooksServe, Message: "every declared webhook is registered and reachable"}
}

// Pods keep the previous certificate until it expires.
func rejected(status managerv1alpha1.WebhookRolloutStatus) metav1.Condition {
	c := metav1.Condition{Type: managerv1alpha1.ConditionCertificateRejected}
	var messages []string
	for _, d := range status.Deployments {
		if d.Certificate != nil && d.Certificate.Rejected != nil {
			c.Reason = cmp.Or(c.Reason, d.Certificate.Rejected.Reason)
			messages = append(messages, d.Certificate.Rejected.Message)
		}
	}
	c.Message = strings.Join(messages, "; ")
	return c
}

// contested returns which objects other clients change back. It requeues for the next repair.
func (r *reporter) contested() string {
	var messages []string
	for key, contest := range r.Observed.Contests {
		for _, at := range contest.ChangesAt(r.now) {
			r.plan.requeue(at, "another client reverts repairs")
		}
		if message := contest.Report(key, r.now); message != "" {
			messages = append(messages, message)
		}
	}
	slices.Sort(messages)
	return strings.Join(messages, "; ")
}

// unregistrationRefused returns which registrations finalizers keep, or the API server. Contested has the others.
func (r *reporter) unregistrationRefused() string {
	var messages []string
	for key, why := range r.plan.stays {
		if why != r.Observed.Contests[key].Message(key, r.now) {
			messages = append(messages, why)
		}
	}
	slices.Sort(messages)
	return strings.Join(messages, "; ")
}

func (r *reporter) changedByAdmission() string {
	if len(r.plan.admitted) == 0 {
		return ""
	}
	return strings.Join(r.plan.admitted, "; ") + ". A mutating webhook or a MutatingAdmissionPolicy changes what the manager writes, and the manager accepts it. " +
		"To have the fields as the ClusterServiceVersion describes them, exclude the object from that webhook or policy"
}

// The registration stays, because the resources may be served later.
func (r *reporter) rulesMatchNothing() string {
	const mostRules, mostText = 100, 8000 // more are not read
	var messages []string
	for i, d := range r.CSV.Spec.WebhookDefinitions[:csvspec.WebhooksWithinLimit(r.CSV)] {
		if d.Type == operatorsv1alpha1.ConversionWebhook {
			continue
		}
		if len(messages) > mostRules {
			break
		}
		for _, u := range rules.Mismatches(d, r.Observed.Catalog) {
			messages = append(messages, fmt.Sprintf("webhook %s is not called for spec.webhookdefinitions[%d].rules[%d]: %s; %s", d.GenerateName, i, u.Rule, u.What, u.WayOut))
		}
	}
	return csvstatus.Shorten(strings.Join(messages, "; "), mostText, "")
}
