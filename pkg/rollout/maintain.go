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

// maintainer repairs what is in service and is not rolled out.
type maintainer struct {
	*facts
	conversions  *conversions
	ports        *ports
	registrar    *registrar
	plan         *planBuilder
	rolledOut    map[string]bool
	reregistered map[csvspec.Identity]webhookView // webhooks whose registration was deleted while a requirement is not met
}

// ToMaintain returns the versions, as they are served, that have a registration which the
// ClusterServiceVersion declares otherwise: for another Deployment, or to be called in another way.
// The registration keeps its policy, caBundle and certificate until the new declaration is served.
func (in Input) ToMaintain() []*operatorsv1alpha1.ClusterServiceVersion {
	versions := in.Upgrade.From
	switch {
	case len(in.Upgrade.From) > 0 && !in.Upgrade.Started:
		return nil
	case in.RendersAsServed():
	case in.Failure != nil || !in.Verdict.Passes():
		return nil
	default:
		versions = append([]*operatorsv1alpha1.ClusterServiceVersion{in.CSV}, versions...)
	}
	var all []*operatorsv1alpha1.ClusterServiceVersion
	for _, csv := range versions {
		if served := in.asServed(csv); slices.ContainsFunc(csvspec.Deployments(served), func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
			return len(in.ServedOtherwise(served, spec.Name)) > 0
		}) {
			all = append(all, served)
		}
	}
	return all
}

// ServedOtherwise returns the live descriptions of a Deployment that the ClusterServiceVersion
// declares otherwise.
func (in Input) ServedOtherwise(served *operatorsv1alpha1.ClusterServiceVersion, deployment string) []operatorsv1alpha1.WebhookDescription {
	return slices.DeleteFunc(csvspec.Descriptions(served, deployment), func(d operatorsv1alpha1.WebhookDescription) bool {
		return !in.isServed(served, d) || !in.declaresOtherwise(served, d)
	})
}

// isServed reports whether a version registered a description.
func (in Input) isServed(served *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription) bool {
	s := asServed{csv: served, observed: in.Observed}
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		return slices.ContainsFunc(d.ConversionCRDs, func(name string) bool {
			crd := in.Observed.CRDs[name]
			if crd == nil {
				return false
			}
			namespace, service := owners.ConvertedBy(crd)
			return namespace == served.Namespace && s.deploymentBehind(service) == d.DeploymentName
		})
	}
	return slices.ContainsFunc(in.Observed.registrations(), func(live registration.Registration) bool {
		called := registration.ServiceOf(live.Object)
		return csvspec.IdentityOf(d).Registers(live.Kind, live.Object) && csvspec.HasOwnerLabels(live.Object, served) &&
			called != nil && called.Namespace == served.Namespace && s.deploymentBehind(called.Name) == d.DeploymentName
	})
}

// declaresOtherwise reports whether the ClusterServiceVersion declares what is served, in another
// way. Undeclared webhooks are unregistered. An undeclared conversion ends when no object needs it.
func (in Input) declaresOtherwise(served *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription) bool {
	of, isConversion := csvspec.IdentityOf(d), d.Type == operatorsv1alpha1.ConversionWebhook
	if served.UID == in.CSV.UID {
		moved := in.declaredFor(of)
		if isConversion && moved == "" {
			return !lists(in.CSV, d.DeploymentName)
		}
		return moved != "" && moved != d.DeploymentName && !(isConversion && len(in.Upgrade.From) > 0) // the previous version has it
	}
	change := render.Changes(served, in.CSV)[of]
	return change == render.Moved || change == render.Changed || isConversion && change == render.Removed
}

// declaredFor returns the Deployment for which a webhook is declared; empty for none.
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

// MaintainedDeployments returns the rendered Deployments of a version with the webhooks to maintain
// (see ToMaintain).
func (in Input) MaintainedDeployments(served *operatorsv1alpha1.ClusterServiceVersion, rendered []render.Deployment) []render.Deployment {
	var all []render.Deployment
	for _, d := range rendered {
		elsewhere := in.ServedOtherwise(served, d.Object.Name)
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

// repairInService repairs the webhooks in service and what they need. It starts nothing new and
// rolls out no Deployment.
func (m *maintainer) repairInService() {
	m.reregistered = map[csvspec.Identity]webhookView{}
	m.ports.keepPorts("a requirement is not met")
	m.plan.addAccepted(m.Issuance...)
	for _, d := range m.Desired.Deployments {
		m.repairBackend(d)
	}
	m.maintain()
	for _, pod := range m.ResyncPods {
		m.plan.add(Step{Verb: ResyncVolumes, Object: pod, Live: pod})
	}
}

func (m *maintainer) repairBackend(d render.Deployment) {
	if m.Verdict.ClaimedDeployments[d.Object.Name] != "" {
		return
	}
	inService := slices.DeleteFunc(slices.Clone(d.Webhooks), func(w render.Webhook) bool {
		return m.Config.Disabled(w.Description) || m.liveOf(w) == nil && !m.wasRegistered(w) || m.servedByOther(d, w)
	})
	if len(inService) == 0 {
		return
	}
	declared := !slices.ContainsFunc(inService, func(w render.Webhook) bool { return !m.asDeclared(w) })
	m.plan.ensureUnlessChanged(declared, d.Service, lookUp(m.Observed.Services, d.Service.Name))
	m.plan.ensureUnlessChanged(declared, d.Role, lookUp(m.Observed.Roles, d.Role.Name))
	m.plan.ensureUnlessChanged(declared, d.RoleBinding, lookUp(m.Observed.RoleBindings, d.RoleBinding.Name))
	m.plan.ensureDelegation(d)
	m.plan.writeSecret(d.Object.Name)
	if live := m.Observed.Deployments[d.Object.Name]; live == nil {
		m.plan.ensure(d.Object, nil)
	} else {
		m.plan.restartPods(d.Object, live)
	}
	for _, w := range inService {
		m.repairWebhook(d, w)
	}
}

func (m *maintainer) repairWebhook(d render.Deployment, w render.Webhook) {
	live := m.liveOf(w)
	switch {
	case len(w.Conversions) > 0:
		m.plan.ensureConversions(m.conversions.asRouted(slices.DeleteFunc(slices.Clone(w.Conversions), func(c render.Conversion) bool { return !m.conversions.mayReconvert(c) })))
	case live == nil:
		m.reregistered[csvspec.IdentityOf(w.Description)] = m.registrar.register(d, w, m.progressOf(d))
	case w.Delegated && len(registration.RulesOf(live)) == 0:
	case m.asDeclared(w) && m.olderOwner(live) == nil:
		if w.Delegated {
			w = registration.WithLiveBundle(w, live)
		}
		m.plan.ensureRegistration(registration.Of(w), live)
	case !w.Delegated:
		m.plan.ensureTrust(registration.Of(w), live)
	}
}

// maintain repairs what is registered and not called as desired yet. It skips what the plan already
// writes.
func (m *maintainer) maintain() {
	for _, d := range m.Maintained {
		if live := m.Observed.Deployments[d.Object.Name]; live != nil && !m.rolledOut[d.Object.Name] {
			m.maintainBackend(d, live)
		}
		for _, w := range d.Webhooks {
			m.maintainWebhook(w)
		}
	}
}

// maintainBackend repairs the backend, unless the ClusterServiceVersion rolls it out.
func (m *maintainer) maintainBackend(d render.Deployment, live *appsv1.Deployment) {
	declared := !slices.ContainsFunc(d.Webhooks, func(w render.Webhook) bool { return !m.asDeclared(w) })
	m.plan.repair(declared, d.Service, lookUp(m.Observed.Services, d.Service.Name))
	m.plan.repair(declared, d.Role, lookUp(m.Observed.Roles, d.Role.Name))
	m.plan.repair(declared, d.RoleBinding, lookUp(m.Observed.RoleBindings, d.RoleBinding.Name))
	m.plan.ensureCertificate(d, live)
}

func (m *maintainer) maintainWebhook(w render.Webhook) {
	if len(w.Conversions) > 0 {
		m.maintainConversions(w)
		return
	}
	live := m.registered(w)
	if live == nil || m.plan.writes(drift.KeyOf(live)) || m.Config.Disabled(w.Description) || m.refusedAlready(live) {
		return
	}
	switch {
	case w.Delegated && (len(registration.RulesOf(live)) == 0 || !m.asDeclared(w)):
	case w.Delegated:
		m.plan.ensureRegistration(registration.Of(registration.WithLiveBundle(w, live)), live)
	case m.asDeclared(w):
		m.plan.ensureRegistration(registration.Of(w), live)
	default:
		m.plan.ensureTrust(registration.Of(w), live)
	}
}

// maintainConversions keeps live conversions. If the description changed, it updates the caBundle
// only.
func (m *maintainer) maintainConversions(w render.Webhook) {
	for _, c := range m.conversions.converted(w) {
		live := m.Observed.CRDs[c.CRD]
		if m.plan.writes(crdKey(c.CRD)) {
			continue
		}
		if !conversion.CallsAlike(live, c) {
			bundle := c.Spec.Webhook.ClientConfig.CABundle
			c.Spec = *live.Spec.Conversion.DeepCopy()
			c.Spec.Webhook.ClientConfig.CABundle = bundle
		}
		m.plan.ensureConversions([]render.Conversion{c})
	}
}

// keepTrust updates certificates and the trust in them.
func (m *maintainer) keepTrust() {
	m.plan.addAccepted(m.Issuance...)
	for _, d := range slices.Concat(m.Desired.Deployments, m.Maintained) {
		inService := slices.DeleteFunc(slices.Clone(d.Webhooks), func(w render.Webhook) bool { return m.liveOf(w) == nil || m.servedByOther(d, w) })
		live := m.Observed.Deployments[d.Object.Name]
		if len(inService) == 0 || live == nil || m.Verdict.ClaimedDeployments[d.Object.Name] != "" {
			continue
		}
		m.plan.writeSecret(d.Object.Name)
		m.plan.restartPods(d.Object, live)
		for _, w := range inService {
			if len(w.Conversions) > 0 {
				m.plan.ensureConversions(m.conversions.asRouted(m.conversions.converted(w)))
			} else if !w.Delegated {
				m.plan.ensureTrust(registration.Of(w), m.liveOf(w))
			}
		}
	}
	for _, pod := range m.ResyncPods {
		m.plan.add(Step{Verb: ResyncVolumes, Object: pod, Live: pod})
	}
}
