// Package report derives events, metrics and fields of the ClusterServiceVersion from two statuses.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Event is an event about a ClusterServiceVersion.
type Event struct {
	Warning bool
	Reason  string
	Message string
}

// EventsOf returns the events for the changes between two statuses.
func EventsOf(before, after managerv1alpha1.WebhookRolloutStatus) []Event {
	var events []Event
	known := ByIdentity(before)
	for _, d := range after.Deployments {
		for _, w := range d.Registrations() {
			old := known[csvspec.Identity{Type: w.Type, GenerateName: w.GenerateName}]
			events = append(events, interceptionEvents(old, w)...)
			events = append(events, failOpenEvents(old, w)...)
			if old != nil {
				events = append(events, gapEvent(old.LastGap, w.LastGap))
			}
			if old == nil || old.State != w.State {
				events = append(events, webhookEvent(old, w))
			}
		}
		old := lists.First(before.Deployments, func(earlier managerv1alpha1.DeploymentStatus) bool { return earlier.Name == d.Name }).Certificate
		events = append(events, certificateEvent(old, d), lostEvent(old, d.Certificate), rejectionEvent(old, d.Certificate))
	}
	for _, kind := range []string{managerv1alpha1.ConditionOrderRelaxed, managerv1alpha1.ConditionCallsFail, managerv1alpha1.ConditionContested, managerv1alpha1.ConditionChangedByAdmission, managerv1alpha1.ConditionConversionInUse, managerv1alpha1.ConditionUnregistrationRefused, managerv1alpha1.ConditionInstallerForbidden, managerv1alpha1.ConditionConfigRefused, managerv1alpha1.ConditionRulesMatchNothing} {
		now := meta.FindStatusCondition(after.Conditions, kind)
		if now != nil && now.Status == metav1.ConditionTrue && !meta.IsStatusConditionTrue(before.Conditions, kind) {
			events = append(events, Event{Warning: kind != managerv1alpha1.ConditionChangedByAdmission, Reason: now.Reason, Message: shortened(now.Message)})
		}
	}
	return slices.DeleteFunc(events, func(e Event) bool { return e.Reason == "" })
}

// The first phase has no event, because an installation has many events already.
func certificateEvent(before *managerv1alpha1.CertificateStatus, d managerv1alpha1.DeploymentStatus) Event {
	now := d.Certificate
	if before == nil || now == nil || before.Phase == now.Phase || before.Phase == managerv1alpha1.CertificateBootstrap {
		return Event{}
	}
	e := Event{}
	switch now.Phase {
	case managerv1alpha1.CertificateDistributing:
		e.Reason = managerv1alpha1.EventCertificateDistributing
		e.Message = fmt.Sprintf("the webhooks of deployment %s are made to trust the certificate that follows generation %d", d.Name, before.Generation)
	case managerv1alpha1.CertificatePromoting:
		e.Reason = managerv1alpha1.EventCertificatePromoting
		e.Message = fmt.Sprintf("the pods of deployment %s are given certificate generation %d; %s", d.Name, now.Generation, trustMessage(*now))
	case managerv1alpha1.CertificateRetiring:
		e.Reason = managerv1alpha1.EventCertificateRetiring
		e.Message = fmt.Sprintf("the webhooks of deployment %s are made to trust the CA of certificate generation %d alone; %s", d.Name, now.Generation, soleTrustMessage(*before))
	case managerv1alpha1.CertificateStable:
		e.Reason = managerv1alpha1.EventCertificateStable
		e.Message = fmt.Sprintf("deployment %s has certificate generation %d, and nothing else is trusted", d.Name, now.Generation)
	default:
		e.Warning, e.Reason = true, managerv1alpha1.EventCertificateBootstrap
		e.Message = fmt.Sprintf("deployment %s has lost its certificate: %s", d.Name, now.Message)
	}
	return e
}

// lostEvent reports registrations that cannot be made to trust the certificate of the pods.
func lostEvent(before, now *managerv1alpha1.CertificateStatus) Event {
	if now == nil || len(now.LostRegistrations) == 0 || before != nil && slices.Equal(before.LostRegistrations, now.LostRegistrations) {
		return Event{}
	}
	return Event{Warning: true, Reason: managerv1alpha1.EventRegistrationLost, Message: now.Message}
}

// rejectionEvent reports an invalid certificate of an issuer, once for each reason and object.
func rejectionEvent(before, now *managerv1alpha1.CertificateStatus) Event {
	if now == nil || now.Rejected == nil {
		return Event{}
	}
	if before != nil && before.Rejected != nil && *before.Rejected == *now.Rejected {
		return Event{}
	}
	return Event{Warning: true, Reason: managerv1alpha1.ConditionCertificateRejected, Message: now.Rejected.Message}
}

// trustMessage returns what happens to calls of pods that serve a previous certificate.
func trustMessage(now managerv1alpha1.CertificateStatus) string {
	if now.TrustedCAs > 1 {
		return "the CAs of other certificates that they may serve stay trusted until all pods serve it, or until those have expired"
	}
	return "no CA but its own is trusted, so that calls fail to pods that serve a certificate of another"
}

func soleTrustMessage(before managerv1alpha1.CertificateStatus) string {
	if before.Phase == managerv1alpha1.CertificatePromoting {
		return "no pod is known to serve another certificate that has not expired"
	}
	return "pods are given nothing that another CA signed"
}

type eventReasons struct{ registered, unreachable, blocked, unregistered string }

var (
	webhookEvents = eventReasons{
		managerv1alpha1.EventWebhookRegistered, managerv1alpha1.EventWebhookUnreachable,
		managerv1alpha1.EventWebhookBlocked, managerv1alpha1.EventWebhookUnregistered,
	}
	apiServiceEvents = eventReasons{
		managerv1alpha1.EventAPIServiceRegistered, managerv1alpha1.EventAPIServiceUnreachable,
		managerv1alpha1.EventAPIServiceBlocked, managerv1alpha1.EventAPIServiceUnregistered,
	}
)

// webhookEvent reports a new state of a webhook. A new webhook that waits has no event.
func webhookEvent(before *managerv1alpha1.WebhookStatus, w managerv1alpha1.WebhookStatus) Event {
	title, reasons, registered := managerv1alpha1.Title(w.Type, w.GenerateName), webhookEvents, "registered as "+w.Configuration
	if w.Type == managerv1alpha1.APIServiceType {
		reasons, registered = apiServiceEvents, "registered"
	}
	switch w.State {
	case managerv1alpha1.WebhookRegistered:
		return Event{Reason: reasons.registered, Message: fmt.Sprintf("%s is %s and serves", title, registered)}
	case managerv1alpha1.WebhookUnreachable:
		return Event{Warning: true, Reason: reasons.unreachable, Message: fmt.Sprintf("%s stays registered and no endpoint answers: %s", title, w.Message)}
	case managerv1alpha1.WebhookDisabled:
		return Event{Warning: true, Reason: managerv1alpha1.EventWebhookDisabled, Message: fmt.Sprintf("%s is switched off: %s", title, w.Message)}
	case managerv1alpha1.WebhookBlocked:
		return Event{Warning: true, Reason: reasons.blocked, Message: fmt.Sprintf("%s cannot be registered: %s", title, w.Message)}
	default:
		if before == nil || before.State == managerv1alpha1.WebhookBlocked || before.State == managerv1alpha1.WebhookDisabled {
			return Event{}
		}
		return Event{Warning: true, Reason: reasons.unregistered, Message: fmt.Sprintf("%s is not registered any more: %s", title, w.Message)}
	}
}

func gapEvent(before, after *managerv1alpha1.ConversionGap) Event {
	if after == nil || after.EndTime == nil || before != nil && before.EndTime != nil && before.EndTime.Equal(after.EndTime) {
		return Event{}
	}
	by, took := "a client that field ownership does not show", "at least" // it is not known since when
	if after.By != "" {
		by, took = fmt.Sprintf("field manager %q", after.By), "at most"
	}
	return Event{Warning: true, Reason: managerv1alpha1.EventConversionInterrupted, Message: fmt.Sprintf(
		"%s had no conversion webhook for %s %s, from %s on, because %s wrote spec.conversion: objects in another version may have lost fields. Do not apply spec.conversion",
		strings.Join(after.CRDs, ", "), took, after.EndTime.Sub(after.StartTime.Time).Round(time.Millisecond), after.StartTime.UTC().Format(time.RFC3339), by)}
}

func interceptionEvents(before *managerv1alpha1.WebhookStatus, w managerv1alpha1.WebhookStatus) []Event {
	var old managerv1alpha1.WebhookStatus
	if before != nil {
		old = *before
	}
	var events []Event
	if w.Intercepts != "" && w.Intercepts != old.Intercepts {
		message := fmt.Sprintf("webhook %s intercepts %s", w.GenerateName, w.Intercepts)
		if len(w.BeyondScope) > 0 {
			message += fmt.Sprintf("; %s are in no namespace: the OperatorGroup does not limit who is intercepted", strings.Join(w.BeyondScope, ", "))
		}
		events = append(events, Event{Warning: len(w.BeyondScope) > 0, Reason: managerv1alpha1.EventWebhookIntercepts, Message: shortened(message)})
	}
	if len(w.Exempt) > 0 && !slices.Equal(w.Exempt, old.Exempt) {
		events = append(events, Event{Reason: managerv1alpha1.EventSelfDeadlockPrevented, Message: shortened(fmt.Sprintf(
			"webhook %s could not become available again while no endpoint answers it: requests of the cluster's own components about %s pass it by",
			w.GenerateName, strings.Join(w.Exempt, ", ")))})
	}
	return events
}

// shortened cuts a message to the length of an event. The WebhookRollout has all of it.
func shortened(message string) string {
	const longest, rest = 1000, "... (the WebhookRollout reports it all)"
	if len(message) <= longest {
		return message
	}
	return strings.ToValidUTF8(message[:longest-len(rest)], "") + rest
}
