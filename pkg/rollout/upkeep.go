package rollout

import (
	"bytes"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// InService tells whether the ClusterServiceVersion has webhooks that API servers call, or
// would call if somebody had not taken them away. Before it has taken over from an older
// version they are that one's.
func (in Input) InService() bool {
	if len(in.Upgrade.From) > 0 && !in.Upgrade.Began {
		return false
	}
	for _, live := range in.Observed.registrations() {
		if csvspec.HasOwnerLabels(live.Object, in.CSV) {
			return true
		}
	}
	for _, d := range in.Previous.Deployments {
		for _, w := range d.Registrations() {
			if isRegistered(w) || w.Configuration != "" {
				return true
			}
		}
	}
	return false
}

// Keeps tells whether to look after webhooks in service although a requirement is not
// met: their certificates end, and whoever deletes one of them, all the same.
func (in Input) Keeps() bool {
	return in.Failure == nil && in.Verdict.Mistakes() == "" && in.Verdict.Conflict == "" && in.Verdict.Unmet() != "" &&
		!in.Upgrade.Waits() && in.InService()
}

// keepUp looks after the webhooks that are in service, and what they need. Nothing else
// is begun, and no Deployment is rolled out for what the ClusterServiceVersion asks for.
func (p *planner) keepUp() {
	p.kept = map[csvspec.Identity]webhookView{}
	p.keepPorts("a requirement is not met")
	p.tell(p.Issuance...)
	for _, d := range p.Desired.Deployments {
		p.keepUpBackend(d)
	}
	p.maintain()
	for _, pod := range p.Nudges {
		p.take(Step{Verb: Nudge, Object: pod, Live: pod})
	}
}

func (p *planner) keepUpBackend(d render.Deployment) {
	if p.Verdict.ClaimedDeployments[d.Object.Name] != "" {
		return
	}
	inService := slices.DeleteFunc(slices.Clone(d.Webhooks), func(w render.Webhook) bool {
		return p.Config.Disabled(w.Description) || p.liveOf(w) == nil && !p.wasRegistered(w) || p.elsewhere(d, w)
	})
	if len(inService) == 0 {
		return
	}
	declared := !slices.ContainsFunc(inService, func(w render.Webhook) bool { return !p.asDeclared(w) })
	p.wantUnlessChanged(declared, d.Service, lookUp(p.Observed.Services, d.Service.Name))
	p.wantUnlessChanged(declared, d.Role, lookUp(p.Observed.Roles, d.Role.Name))
	p.wantUnlessChanged(declared, d.RoleBinding, lookUp(p.Observed.RoleBindings, d.RoleBinding.Name))
	p.wantDelegation(d)
	p.writeSecret(d.Object.Name)
	if live := p.Observed.Deployments[d.Object.Name]; live == nil {
		p.want(d.Object, nil)
	} else {
		p.restart(d.Object, live)
	}
	for _, w := range inService {
		p.keepUpWebhook(d, w)
	}
}

// wantUnlessChanged repairs what a webhook needs. What the ClusterServiceVersion wants
// otherwise than when it was installed waits for the requirement.
func (p *planner) wantUnlessChanged(declared bool, desired, live drift.Object) {
	if declared || live == nil {
		p.want(desired, live)
	}
}

func (p *planner) keepUpWebhook(d render.Deployment, w render.Webhook) {
	live := p.liveOf(w)
	switch {
	case len(w.Conversions) > 0:
		p.wantConversions(p.asRouted(slices.DeleteFunc(slices.Clone(w.Conversions), func(c render.Conversion) bool { return !p.mayReconvert(c) })))
	case live == nil:
		p.kept[csvspec.IdentityOf(w.Description)] = p.register(d, w, p.progressOf(d))
	case w.Delegated && len(registration.RulesOf(live)) == 0:
	case p.asDeclared(w) && p.theirs(live) == nil:
		if w.Delegated {
			w = registration.WithLiveBundle(w, live)
		}
		p.keep(registration.Of(w), live)
	case !w.Delegated:
		p.trust(registration.Of(w), live)
	}
}

// liveOf is what registers a webhook, or the first definition that it converts; nil when
// nothing does.
func (p *planner) liveOf(w render.Webhook) drift.Object {
	for _, c := range w.Conversions {
		if live := p.Observed.CRDs[c.CRD]; live != nil && conversion.Calls(live, c) {
			return live
		}
	}
	if registration.Of(w) == nil {
		return nil
	}
	return p.registered(w)
}

// asDeclared tells whether the ClusterServiceVersion still wants a webhook as it was
// registered.
func (p *planner) asDeclared(w render.Webhook) bool {
	if registration.Of(w) == nil {
		return true
	}
	live := p.registered(w)
	return live == nil || live.GetLabels()[wellknown.LabelWebhookHash] == registration.Of(w).GetLabels()[wellknown.LabelWebhookHash]
}

// mayReconvert tells whether a definition is converted by this conversion, or was until
// somebody wrote over it.
func (p *planner) mayReconvert(c render.Conversion) bool {
	live := p.Observed.CRDs[c.CRD]
	if live == nil {
		return false
	}
	_, by := owners.ConvertedBy(live)
	return conversion.Calls(live, c) || by == "" && registersCRD(p.Previous, c.CRD)
}

// trust gives a registration the caBundle that it needs, and leaves the rest of it. It says
// so of each generation, or a late write for an earlier one could come through.
func (p *planner) trust(desired, live drift.Object) {
	said := live.GetAnnotations()[wellknown.AnnotationGeneration] == desired.GetAnnotations()[wellknown.AnnotationGeneration]
	if said && bytes.Equal(registration.BundleOf(live), registration.BundleOf(desired)) || registration.TrustsLater(live, desired) {
		return
	}
	trusting := live.DeepCopyObject().(drift.Object)
	copyAnnotations(trusting, desired, wellknown.AnnotationGeneration)
	field := "webhooks.clientConfig.caBundle"
	switch c := trusting.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			c.Webhooks[i].ClientConfig.CABundle = registration.BundleOf(desired)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			c.Webhooks[i].ClientConfig.CABundle = registration.BundleOf(desired)
		}
	case *apiregistrationv1.APIService:
		c.Spec.CABundle, field = registration.BundleOf(desired), "spec.caBundle"
	}
	p.take(Step{Verb: Update, Object: trusting, Live: live, Drift: drift.Drift{Fields: []string{field}}, Desired: trusting})
}

// restart replaces the pods of a Deployment where they have to be for a certificate that
// they do not take up, and changes nothing else of it.
func (p *planner) restart(desired, live *appsv1.Deployment) {
	restarted := live.DeepCopy()
	copyAnnotations(&restarted.Spec.Template, &desired.Spec.Template, wellknown.AnnotationCAHash, wellknown.AnnotationRestartedFor)
	if !maps.Equal(restarted.Spec.Template.Annotations, live.Spec.Template.Annotations) {
		p.take(Step{Verb: Update, Object: restarted, Live: live, Drift: drift.Drift{Fields: []string{"spec.template.metadata.annotations"}}, Desired: restarted})
	}
}

// annotatedObject is whatever bears annotations.
type annotatedObject interface {
	GetAnnotations() map[string]string
	SetAnnotations(map[string]string)
}

// copyAnnotations copies those of some keys, as far as they are there.
func copyAnnotations(to, from annotatedObject, keys ...string) {
	annotations := map[string]string{}
	maps.Copy(annotations, to.GetAnnotations())
	for _, key := range keys {
		if value, ok := from.GetAnnotations()[key]; ok {
			annotations[key] = value
		}
	}
	to.SetAnnotations(annotations)
}
