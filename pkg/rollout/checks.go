package rollout

import (
	"cmp"
	"fmt"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// A check is a condition that a webhook must meet before API servers call it as desired.
type check struct {
	run   func(candidate) (reason, message string, blocked bool)
	state managerv1alpha1.WebhookState // of a webhook that the check blocks; Waiting if it is empty
}

// writeChecks apply to every webhook, also to one that is live. The first check that blocks decides.
var writeChecks = []check{
	{candidate.enabled, managerv1alpha1.WebhookDisabled},
	{candidate.accepted, managerv1alpha1.WebhookBlocked},
}

// callChecks precede a first call, or one at another Service, port or path. The first check that blocks decides.
var callChecks = []check{
	{run: candidate.certificateUsable},
	{run: candidate.deploymentAvailable},
	{run: candidate.caBundleInjected},
	{run: candidate.certificateIssued},
	{run: candidate.namespacesLabelled},
	{run: candidate.portFree},
	{run: candidate.serviceUnchanged},
	{run: candidate.endpointsServe},
}

type candidate struct {
	*registrar
	deployment render.Deployment
	webhook    render.Webhook
	backend    workload.Progress
	live       drift.Object // the registration; nil when there is none, and for a conversion
}

// Where the administrator injects the caBundle, a webhook has that of its registration.
func (r *registrar) candidateFor(d render.Deployment, w render.Webhook, backend workload.Progress) candidate {
	c := candidate{registrar: r, deployment: d, webhook: w, backend: backend}
	if !c.converts() {
		c.live = r.registered(w)
	}
	if w.Delegated && c.live != nil {
		c.webhook = registration.WithLiveBundle(w, c.live)
	}
	return c
}

func (c candidate) converts() bool {
	return c.webhook.Description.Type == operatorsv1alpha1.ConversionWebhook
}

func (c candidate) firstBlocking(checks []check) (view webhookView, blocked bool) {
	for _, check := range checks {
		if reason, message, blocked := check.run(c); blocked {
			return webhookView{Webhook: c.webhook, state: cmp.Or(check.state, managerv1alpha1.WebhookWaiting), reason: reason, message: message}, true
		}
	}
	return webhookView{}, false
}

// enabled: the administrator has not switched the webhook off. A conversion cannot be switched off.
func (c candidate) enabled() (reason, message string, blocked bool) {
	if c.converts() || !c.Config.Disabled(c.webhook.Description) {
		return "", "", false
	}
	return c.switchedOff()
}

func (r *registrar) switchedOff() (reason, message string, blocked bool) {
	return managerv1alpha1.ReasonSwitchedOff, fmt.Sprintf("annotation %s in the config of Subscription %s names it", wellknown.AnnotationDisabledWebhooks, r.Config.Subscription), true
}

// accepted: the API server has not refused a write of the registration in this reconciliation.
func (c candidate) accepted() (reason, message string, blocked bool) {
	keys := lists.Map(c.webhook.Conversions, func(conversion render.Conversion) string { return crdKey(conversion.CRD) })
	if !c.converts() {
		keys = append(keys, drift.KeyOf(c.webhook.Registration))
	}
	reason, message = c.refused(keys...)
	return reason, message, reason != ""
}

// certificateUsable: the serving certificate, if it exists, can be served and verified.
func (c candidate) certificateUsable() (reason, message string, blocked bool) {
	certificate := c.Certificates[c.deployment.Object.Name]
	return managerv1alpha1.ReasonCertificateUnusable, certificate.Message, !c.webhook.Delegated && certificate.CAFingerprint == "" && certificate.Message != ""
}

// deploymentAvailable requires only available pods for a webhook that was in service and deleted.
func (c candidate) deploymentAvailable() (reason, message string, blocked bool) {
	inService := c.backend.Available
	if c.webhook.Delegated {
		inService = inService && c.wasRegistered(c.webhook)
	} else {
		inService = inService && c.servedBefore(c.webhook)
	}
	return managerv1alpha1.ReasonDeploymentNotAvailable, c.backend.Message, !c.backend.Complete() && !inService
}

// caBundleInjected: the registration without rules has a caBundle, where the administrator provides it.
func (c candidate) caBundleInjected() (reason, message string, blocked bool) {
	if !c.awaitsRules() || len(registration.BundleOf(c.live)) > 0 || !c.backend.Complete() {
		return "", "", false
	}
	return managerv1alpha1.ReasonCABundleNotInjected, fmt.Sprintf("no client has injected a caBundle into %s yet: check the annotations in the Subscription's spec.config, and the tool that acts on them", drift.KeyOf(c.live)), true
}

// certificateIssued: the serving certificate exists.
func (c candidate) certificateIssued() (reason, message string, blocked bool) {
	return managerv1alpha1.ReasonCertificateMissing, "the serving certificate is being written", !c.webhook.Delegated && c.Certificates[c.deployment.Object.Name].CAFingerprint == ""
}

// namespacesLabelled: every Namespace of the OperatorGroup has the label that the webhook selects.
func (c candidate) namespacesLabelled() (reason, message string, blocked bool) {
	if !c.Observed.lacksLabels(c.webhook) {
		return "", "", false
	}
	return managerv1alpha1.ReasonNamespacesNotLabelled, c.Observed.missingLabels(), true
}

// portFree: no live registration needs the port of the Service to lead elsewhere.
func (c candidate) portFree() (reason, message string, blocked bool) {
	if !c.isProbed() {
		return "", "", false
	}
	held := c.ports.blockedPortOf(c.deployment, c.webhook)
	return held.reason, held.message, held.reason != ""
}

// serviceUnchanged: endpoints before a repair of the Service prove nothing about the pods after it.
func (c candidate) serviceUnchanged() (reason, message string, blocked bool) {
	if !c.isProbed() {
		return "", "", false
	}
	live := c.Observed.Services[c.deployment.Service.Name]
	if live == nil || backends.SameTargets(live, c.deployment.Service) {
		return "", "", false
	}
	return managerv1alpha1.ReasonServiceChanged, fmt.Sprintf("service %s does not lead to the pods that it should: it is being repaired", live.Name), true
}

// endpointsServe: each endpoint presents a trusted certificate and answers. The plan asks for missing answers.
func (c candidate) endpointsServe() (reason, message string, blocked bool) {
	if !c.isProbed() {
		return "", "", false
	}
	endpoints, reason, message := c.probes.toProbe(c.deployment, c.webhook)
	if reason == "" {
		reason, message = c.probes.unanswered(endpoints, c.probes.probePause(c.webhook, c.backend))
	}
	return reason, message, reason != ""
}

// A first registration without rules, into which the administrator injects a caBundle, is called by nothing.
func (c candidate) isProbed() bool {
	firstWithoutRules := c.webhook.Delegated && !c.converts() && c.live == nil
	return c.Policy.Gate == GateServing && !firstWithoutRules
}

// awaitsRules reports whether the live registration has no rules yet, so that a caBundle can be injected.
func (c candidate) awaitsRules() bool {
	return c.webhook.Delegated && c.live != nil && len(registration.RulesOf(c.live)) == 0 && len(registration.RulesOf(c.webhook.Registration)) > 0
}
