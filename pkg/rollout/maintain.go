package rollout

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// ToMaintain are the versions of the operator, as they are served, of which something is
// registered that the ClusterServiceVersion declares for another Deployment, or to be called in
// another way. API servers call it as it is until that is served: it keeps its policy, its
// caBundle and its certificate for as long. A ClusterServiceVersion that is held is rendered as
// it is served anyway; what it has not taken over yet is as the version before has it.
func (in Input) ToMaintain() []*operatorsv1alpha1.ClusterServiceVersion {
	versions := in.Upgrade.From
	switch {
	case len(in.Upgrade.From) > 0 && !in.Upgrade.Began:
		return nil
	case in.Holds():
	case in.Failure != nil || !in.Verdict.Passes():
		return nil
	default:
		versions = append([]*operatorsv1alpha1.ClusterServiceVersion{in.CSV}, versions...)
	}
	var all []*operatorsv1alpha1.ClusterServiceVersion
	for _, csv := range versions {
		if served := in.asServed(csv); slices.ContainsFunc(csvspec.Deployments(served), func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
			return len(in.Elsewhere(served, spec.Name)) > 0
		}) {
			all = append(all, served)
		}
	}
	return all
}

// Elsewhere are the descriptions of a Deployment in a version as it is served whose
// registrations are there, and that the ClusterServiceVersion wants to be called otherwise.
func (in Input) Elsewhere(served *operatorsv1alpha1.ClusterServiceVersion, deployment string) []operatorsv1alpha1.WebhookDescription {
	return slices.DeleteFunc(csvspec.Descriptions(served, deployment), func(d operatorsv1alpha1.WebhookDescription) bool {
		return !in.isServed(served, d) || !in.wantsOtherwise(served, d)
	})
}

// isServed reports whether a description of a version is registered, by this version.
func (in Input) isServed(served *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription) bool {
	s := asServed{csv: served, observed: in.Observed}
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		return slices.ContainsFunc(d.ConversionCRDs, func(name string) bool {
			crd := in.Observed.CRDs[name]
			if crd == nil {
				return false
			}
			namespace, service := owners.ConvertedBy(crd)
			return namespace == served.Namespace && s.behind(service) == d.DeploymentName
		})
	}
	return slices.ContainsFunc(in.Observed.registrations(), func(live registration.Registration) bool {
		called := registration.ServiceOf(live.Object)
		return csvspec.IdentityOf(d).Registers(live.Kind, live.Object) && csvspec.HasOwnerLabels(live.Object, served) &&
			called != nil && called.Namespace == served.Namespace && s.behind(called.Name) == d.DeploymentName
	})
}

// wantsOtherwise reports whether the ClusterServiceVersion declares what is served, and wants it
// to be called in another way. What it does not declare is unregistered, except a conversion,
// which ends when no object needs it (see EndConversions).
func (in Input) wantsOtherwise(served *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription) bool {
	of, isConversion := csvspec.IdentityOf(d), d.Type == operatorsv1alpha1.ConversionWebhook
	if served.UID == in.CSV.UID {
		moved := in.declaredFor(of)
		if isConversion && moved == "" {
			return !lists(in.CSV, d.DeploymentName) // else it is among what the plan desires
		}
		return moved != "" && moved != d.DeploymentName && !(isConversion && len(in.Upgrade.From) > 0) // then it is as an older version has it
	}
	change := render.Changes(served, in.CSV)[of]
	return change == render.Moved || change == render.Changed || isConversion && change == render.Removed
}

// declaredFor is the Deployment for which the ClusterServiceVersion declares a webhook; empty
// for none.
func (in Input) declaredFor(of csvspec.Identity) string {
	for _, spec := range csvspec.Deployments(in.CSV) {
		for _, d := range csvspec.Descriptions(in.CSV, spec.Name) {
			if csvspec.IdentityOf(d) == of {
				return spec.Name
			}
		}
	}
	return ""
}

// Serving are the rendered Deployments of a version as it is served with what is to be
// maintained of each (see ToMaintain).
func (in Input) Serving(served *operatorsv1alpha1.ClusterServiceVersion, rendered []render.Deployment) []render.Deployment {
	var all []render.Deployment
	for _, d := range rendered {
		elsewhere := in.Elsewhere(served, d.Object.Name)
		d.Webhooks = slices.DeleteFunc(slices.Clone(d.Webhooks), func(w render.Webhook) bool {
			return !slices.ContainsFunc(elsewhere, func(e operatorsv1alpha1.WebhookDescription) bool {
				return csvspec.IdentityOf(e) == csvspec.IdentityOf(w.Description)
			})
		})
		if len(d.Webhooks) > 0 {
			all = append(all, d)
		}
	}
	return all
}

// maintain looks after what is registered and is not called yet where, or as, it is to be. What
// this plan switches or unregisters already is left out.
func (p *planner) maintain() {
	for _, d := range p.Maintained {
		if live := p.Observed.Deployments[d.Object.Name]; live != nil && !p.rolledOut[d.Object.Name] {
			p.maintainBackend(d, live)
		}
		for _, w := range d.Webhooks {
			p.maintainWebhook(w)
		}
	}
}

// maintainBackend looks after what serves it, where the ClusterServiceVersion does not roll that
// out itself.
func (p *planner) maintainBackend(d render.Deployment, live *appsv1.Deployment) {
	declared := !slices.ContainsFunc(d.Webhooks, func(w render.Webhook) bool { return !p.asDeclared(w) })
	p.repair(declared, d.Service, lookUp(p.Observed.Services, d.Service.Name))
	p.repair(declared, d.Role, lookUp(p.Observed.Roles, d.Role.Name))
	p.repair(declared, d.RoleBinding, lookUp(p.Observed.RoleBindings, d.RoleBinding.Name))
	p.keepCertificate(d, live)
}

// keepCertificate gives the pods of a Deployment that is not rolled out another certificate.
func (p *planner) keepCertificate(d render.Deployment, live *appsv1.Deployment) {
	if secret := p.Secrets[d.Object.Name]; secret != nil && !p.plans(drift.KeyOf(secret)) {
		p.writeSecret(d.Object.Name)
	}
	if !p.plans(drift.KeyOf(live)) {
		p.restart(d.Object, live)
	}
}

// elsewhere reports whether pods of another Deployment serve the live registration of a webhook: an
// older version registered it, or an edit waits.
func (p *planner) elsewhere(d render.Deployment, w render.Webhook) bool {
	live := p.liveOf(w)
	if live == nil || len(w.Conversions) > 0 {
		return false
	}
	called := registration.ServiceOf(live)
	if called == nil || called.Namespace != p.CSV.Namespace {
		return false
	}
	serves := asServed{csv: p.CSV, observed: p.Observed}.behind(called.Name)
	return serves != "" && serves != d.Object.Name
}

// repair writes what differs of an object that serves what is maintained, and recreates one that
// was deleted. Its owners stay, who may be several versions.
func (p *planner) repair(declared bool, desired, live drift.Object) {
	if p.plans(drift.KeyOf(desired)) {
		return
	}
	if live == nil {
		p.want(desired, nil)
		return
	}
	if !declared {
		return
	}
	kept := desired.DeepCopyObject().(drift.Object)
	kept.SetOwnerReferences(live.GetOwnerReferences())
	if step, differs := stepTo(kept, live, p.Observed, p.now); differs {
		p.take(step)
	}
}

func (p *planner) maintainWebhook(w render.Webhook) {
	if len(w.Conversions) > 0 {
		p.maintainConversions(w)
		return
	}
	live := p.registered(w)
	if live == nil || p.plans(drift.KeyOf(live)) || p.Config.Disabled(w.Description) || p.refusedAlready(live) {
		return
	}
	switch {
	case w.Delegated && (len(registration.RulesOf(live)) == 0 || !p.asDeclared(w)):
	case w.Delegated:
		p.keep(registration.Of(registration.WithLiveBundle(w, live)), live)
	case p.asDeclared(w):
		p.keep(registration.Of(w), live)
	default:
		p.trust(registration.Of(w), live)
	}
}

// maintainConversions keeps definitions converted as they are. Where the description has changed
// otherwise, too, only the caBundle is kept.
func (p *planner) maintainConversions(w render.Webhook) {
	for _, c := range p.convertedAlready(w) {
		live := p.Observed.CRDs[c.CRD]
		if p.plans(crdKey(c.CRD)) {
			continue
		}
		if !conversion.CallsAlike(live, c) {
			bundle := c.Spec.Webhook.ClientConfig.CABundle
			c.Spec = *live.Spec.Conversion.DeepCopy()
			c.Spec.Webhook.ClientConfig.CABundle = bundle
		}
		p.wantConversions([]render.Conversion{c})
	}
}

// plans reports whether the plan writes an object already.
func (p *planner) plans(key string) bool {
	return slices.ContainsFunc(p.plan.Steps, func(s Step) bool { return s.Key() == key })
}

// refusedAlready reports whether the API server has refused a write of an object in this pass.
func (p *planner) refusedAlready(o drift.Object) bool {
	return p.Observed.Refused[drift.KeyOf(o)] != ""
}
