package rollout

import (
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// ToMaintain returns versions with a registration that stays as it is until its new declaration is served, or it is deleted.
func (in Input) ToMaintain() []*operatorsv1alpha1.ClusterServiceVersion {
	versions := in.Upgrade.From
	switch {
	case in.Upgrade.isPending():
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

// ServedOtherwise returns the live descriptions that are now declared otherwise, or not at all.
func (in Input) ServedOtherwise(served *operatorsv1alpha1.ClusterServiceVersion, deployment string) []operatorsv1alpha1.WebhookDescription {
	registrations, otherwise := in.Observed.registrations(), in.declaresOtherwise(served)
	return slices.DeleteFunc(csvspec.Descriptions(served, deployment), func(d operatorsv1alpha1.WebhookDescription) bool {
		return !in.isServed(served, d, registrations) || !otherwise(d)
	})
}

func (in Input) isServed(served *operatorsv1alpha1.ClusterServiceVersion, d operatorsv1alpha1.WebhookDescription, registrations []registration.Registration) bool {
	s := asServed{csv: served, observed: in.Observed}
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		return slices.ContainsFunc(d.ConversionCRDs, func(name string) bool {
			crd := in.Observed.CRDs[name]
			return crd != nil && s.converter(crd) == d.DeploymentName
		})
	}
	return slices.ContainsFunc(registrations, func(live registration.Registration) bool {
		called := registration.ServiceOf(live.Object)
		return csvspec.IdentityOf(d).Registers(live.Kind, live.Object) && csvspec.HasOwnerLabels(live.Object, served) &&
			called != nil && called.Namespace == served.Namespace && s.deploymentBehind(called.Name) == d.DeploymentName
	})
}

// Undeclared webhooks are maintained until they are unregistered, and an undeclared conversion until no object needs it.
func (in Input) declaresOtherwise(served *operatorsv1alpha1.ClusterServiceVersion) func(operatorsv1alpha1.WebhookDescription) bool {
	if served.UID != in.CSV.UID {
		changes := render.Changes(served, in.CSV)
		return func(d operatorsv1alpha1.WebhookDescription) bool {
			change := changes[csvspec.IdentityOf(d)]
			return change == render.Moved || change == render.Changed || change == render.Removed
		}
	}
	declared := in.declared()
	return func(d operatorsv1alpha1.WebhookDescription) bool {
		isConversion, moved := d.Type == operatorsv1alpha1.ConversionWebhook, declared[csvspec.IdentityOf(d)]
		if isConversion && moved == "" {
			return !csvspec.HasDeployment(in.CSV, d.DeploymentName)
		}
		return moved != d.DeploymentName && !(isConversion && len(in.Upgrade.From) > 0) // the previous version has it
	}
}

func (in Input) declared() map[csvspec.Identity]string {
	declared := map[csvspec.Identity]string{}
	for _, spec := range csvspec.Deployments(in.CSV) {
		for _, d := range csvspec.Descriptions(in.CSV, spec.Name) {
			if of := csvspec.IdentityOf(d); declared[of] == "" {
				declared[of] = spec.Name
			}
		}
	}
	return declared
}

// MaintainedDeployments returns Deployments with the webhooks of ToMaintain.
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
