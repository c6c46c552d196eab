package rollout

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

type maintainer struct {
	*facts
	ports        *ports
	opener       *opener
	registrar    *registrar
	plan         *planBuilder
	rolledOut    map[string]bool
	reregistered map[csvspec.Identity]webhookView // webhooks whose registration was deleted while a requirement is not met
}

// repairInService starts nothing new and rolls out no Deployment.
func (m *maintainer) repairInService() {
	m.reregistered = map[csvspec.Identity]webhookView{}
	m.ports.keepPorts("a requirement is not met")
	m.opener.decide(true)
	m.plan.addUnlessAccepted(m.Issuance...)
	for _, d := range m.Desired.Deployments {
		m.repairBackend(d)
	}
	m.maintain()
	m.plan.resyncVolumes()
}

func (m *maintainer) repairBackend(d render.Deployment) {
	if m.Verdict.ClaimedDeployments[d.Object.Name] != "" {
		return
	}
	inService := slices.DeleteFunc(slices.Clone(d.Webhooks), func(w render.Webhook) bool {
		return m.liveOf(w) == nil && (m.Config.Disabled(w.Description) || !m.wasRegistered(w)) || m.servedByOther(d, w)
	})
	if len(inService) == 0 {
		return
	}
	declared := !slices.ContainsFunc(inService, func(w render.Webhook) bool { return !m.asDeclared(w) })
	m.plan.ensureUnlessChanged(declared, d.Service, lookUp(m.Observed.Services, d.Service.Name))
	m.plan.ensureGrant(d.Role, d.RoleBinding, func(desired, live drift.Object) { m.plan.ensureUnlessChanged(declared, desired, live) })
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
	case m.Config.Disabled(w.Description):
		m.plan.ensureTrustOnly(w, live)
	case len(w.Conversions) > 0:
		m.plan.ensureConversions(m.asRouted(slices.DeleteFunc(slices.Clone(w.Conversions), func(c render.Conversion) bool { return !m.mayReconvert(w, c) })))
	case live == nil:
		m.reregistered[csvspec.IdentityOf(w.Description)] = m.registrar.register(d, w, m.progressOf(d))
	case w.Delegated && len(registration.RulesOf(live)) == 0:
	case d.Adopted && !w.Delegated:
		m.plan.ensureTrust(w.Registration, live)
	case m.asDeclared(w) && m.Upgrade.olderOwner(live) == nil:
		if w.Delegated {
			w = registration.WithLiveBundle(w, live)
		}
		m.plan.ensureRegistration(w.Registration, live)
	case !w.Delegated:
		m.plan.ensureTrust(w.Registration, live)
	}
}

// maintain skips what the plan already writes.
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

// stillServing returns a Deployment of which no webhook is declared any more, with the certificate that it serves until its
// webhooks are unregistered or moved; nil if nothing calls it.
func (m *maintainer) stillServing(d render.Deployment) *appsv1.Deployment {
	for _, served := range m.Maintained {
		if d.Service == nil && served.Object.Name == d.Object.Name && csvspec.HasOwnerLabels(served.Object, m.CSV) {
			return served.Object
		}
	}
	return nil
}

// maintainBackend repairs the backend, unless the ClusterServiceVersion rolls it out.
func (m *maintainer) maintainBackend(d render.Deployment, live *appsv1.Deployment) {
	declared := !slices.ContainsFunc(d.Webhooks, func(w render.Webhook) bool { return !m.asDeclared(w) })
	m.plan.repair(declared, d.Service, lookUp(m.Observed.Services, d.Service.Name))
	m.plan.ensureGrant(d.Role, d.RoleBinding, func(desired, live drift.Object) { m.plan.repair(declared, desired, live) })
	m.plan.ensureCertificate(d, live)
}

func (m *maintainer) maintainWebhook(w render.Webhook) {
	if len(w.Conversions) > 0 {
		m.maintainConversions(w)
		return
	}
	live := m.registered(w)
	if live == nil || m.plan.writes(drift.KeyOf(live)) {
		return
	}
	switch {
	case m.plan.stays[drift.KeyOf(live)] != "":
		m.plan.ensureTrustOnly(w, live)
	case w.Delegated && (len(registration.RulesOf(live)) == 0 || !m.asDeclared(w)):
	case w.Delegated:
		m.plan.ensureRegistration(registration.WithLiveBundle(w, live).Registration, live)
	case m.asDeclared(w):
		m.plan.ensureRegistration(w.Registration, live)
	default:
		m.plan.ensureTrust(w.Registration, live)
	}
}

// If the description changed, only the caBundle is updated.
func (m *maintainer) maintainConversions(w render.Webhook) {
	for _, c := range m.converted(w) {
		live := m.Observed.CRDs[c.CRD]
		if m.plan.writes(crdKey(c.CRD)) {
			continue
		}
		if !conversion.CallsAlike(live, c) {
			c = conversion.WithLiveCall(c, live)
		}
		m.plan.ensureConversions([]render.Conversion{c})
	}
}

func (m *maintainer) keepTrust() {
	m.plan.addUnlessAccepted(m.Issuance...)
	for _, d := range slices.Concat(m.Desired.Deployments, m.Maintained) {
		inService := slices.DeleteFunc(slices.Clone(d.Webhooks), func(w render.Webhook) bool {
			return m.liveOf(w) == nil || m.servedByOther(d, w) || m.Upgrade.isPending() && m.Upgrade.olderOwner(m.liveOf(w)) != nil
		})
		live := m.Observed.Deployments[d.Object.Name]
		if len(inService) == 0 || live == nil || m.Verdict.ClaimedDeployments[d.Object.Name] != "" {
			continue
		}
		m.plan.ensureCertificate(d, live)
		for _, w := range inService {
			if len(w.Conversions) > 0 {
				m.plan.ensureConversions(m.asRouted(m.converted(w)))
			} else {
				m.plan.ensureTrustOnly(w, m.liveOf(w))
			}
		}
	}
	m.plan.resyncVolumes()
}
