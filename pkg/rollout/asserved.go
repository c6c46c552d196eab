package rollout

import (
	"maps"
	"slices"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// ToRender is the ClusterServiceVersion whose objects the plan needs. One that is held is
// rendered as it is called: an edit that waits, or is a mistake, may leave a webhook out,
// or name another Deployment than the one that serves it, and the certificate there expires
// all the same. One that is installed keeps the conversions that an edit left out while objects
// need them.
func (in Input) ToRender() *operatorsv1alpha1.ClusterServiceVersion {
	if in.Holds() {
		return in.asServed(in.CSV)
	}
	return in.withLeftOut(in.CSV)
}

// Holds reports whether the ClusterServiceVersion is rendered as it is called, because it may
// not be installed as it is.
func (in Input) Holds() bool { return in.Keeps() || in.KeepsTrust() }

// asServed is a version of the operator as its registrations say that it is served.
func (in Input) asServed(csv *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	s := asServed{csv: csv.DeepCopy(), observed: in.Observed}
	for _, live := range in.Observed.registrations() {
		if called := registration.ServiceOf(live.Object); called != nil && called.Namespace == csv.Namespace && csvspec.HasOwnerLabels(live.Object, csv) {
			s.register(live, s.behind(called.Name))
		}
	}
	for i := range csv.Spec.WebhookDefinitions {
		s.convert(&s.csv.Spec.WebhookDefinitions[i])
	}
	for _, crd := range s.leftOut() {
		if deployment := s.converter(crd); csvspec.HasOwnerLabels(in.Observed.Deployments[deployment], csv) {
			s.list(deployment)
			s.declare(crd, deployment)
		}
	}
	return s.csv
}

// asServed is a ClusterServiceVersion that becomes what its registrations say.
type asServed struct {
	csv      *operatorsv1alpha1.ClusterServiceVersion
	observed Observed
}

// behind is the live Deployment whose pods a Service leads to; empty when there is none.
func (s asServed) behind(service string) string {
	for _, name := range slices.Sorted(maps.Keys(s.observed.Deployments)) {
		if service == names.Service(name) || service == csvspec.AlternateServiceName(s.csv, name) {
			return name
		}
	}
	return ""
}

// list puts a live Deployment among those that are declared.
func (s asServed) list(deployment string) {
	specs := &s.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	if !slices.ContainsFunc(*specs, func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool { return spec.Name == deployment }) {
		*specs = append(*specs, operatorsv1alpha1.StrategyDeploymentSpec{Name: deployment, Spec: s.observed.Deployments[deployment].Spec})
	}
}

// register has a Deployment serve what is registered.
func (s asServed) register(live registration.Registration, deployment string) {
	if deployment == "" {
		return
	}
	s.list(deployment)
	if live.Kind == csvspec.APIServiceType {
		s.registerAPI(live.Object.(*apiregistrationv1.APIService), deployment)
		return
	}
	definitions := &s.csv.Spec.WebhookDefinitions
	for i, d := range *definitions {
		if csvspec.IdentityOf(d).Registers(live.Kind, live.Object) {
			(*definitions)[i].DeploymentName = deployment
			return
		}
	}
	*definitions = append(*definitions, operatorsv1alpha1.WebhookDescription{
		Type: live.Kind, GenerateName: live.Object.GetLabels()[wellknown.LabelWebhookGenerateName], DeploymentName: deployment,
	})
}

func (s asServed) registerAPI(live *apiregistrationv1.APIService, deployment string) {
	owned, declared := &s.csv.Spec.APIServiceDefinitions.Owned, false
	for i, d := range *owned {
		if csvspec.APIServiceName(d.Group, d.Version) == live.Name {
			(*owned)[i].DeploymentName, declared = deployment, true
		}
	}
	if !declared {
		*owned = append(*owned, operatorsv1alpha1.APIServiceDescription{Group: live.Spec.Group, Version: live.Spec.Version, DeploymentName: deployment})
	}
}

// convert has a conversion webhook served by the Deployment that converts.
func (s asServed) convert(d *operatorsv1alpha1.WebhookDescription) {
	for _, name := range d.ConversionCRDs {
		crd := s.observed.CRDs[name]
		if d.Type != operatorsv1alpha1.ConversionWebhook || crd == nil {
			continue
		}
		if deployment := s.converter(crd); deployment != "" {
			d.DeploymentName = deployment
			s.list(deployment)
		}
	}
}
