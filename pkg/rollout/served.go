package rollout

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// withUndeclaredConversions adds conversions that objects need and a listed Deployment serves. It must serve them
// until spec.conversion ends (docs/adr/0056-conversions-left-out.md).
func (in Input) withUndeclaredConversions(csv *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	inUse := slices.DeleteFunc(in.undeclaredOfListed(csv), func(crd *apiextensionsv1.CustomResourceDefinition) bool { return in.endOf(crd) == conversion.Ends })
	if len(inUse) == 0 {
		return csv
	}
	s := asServed{csv: csv.DeepCopy(), observed: in.Observed}
	for _, crd := range inUse {
		s.declare(crd, s.converter(crd))
	}
	return s.csv
}

// The counts decide what a Deployment has to serve.
func (in Input) crdsToCount() (names []string) {
	for _, crd := range in.undeclaredOfListed(in.CSV) {
		if in.endOf(crd) == conversion.EndUnknown {
			names = append(names, crd.Name)
		}
	}
	return names
}

func (in Input) undeclaredOfListed(csv *operatorsv1alpha1.ClusterServiceVersion) []*apiextensionsv1.CustomResourceDefinition {
	s := asServed{csv: csv, observed: in.Observed}
	return slices.DeleteFunc(s.undeclared(), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return !csvspec.HasDeployment(csv, s.converter(crd))
	})
}

// undeclared is sorted.
func (s asServed) undeclared() (all []*apiextensionsv1.CustomResourceDefinition) {
	for _, name := range slices.Sorted(maps.Keys(s.observed.CRDs)) {
		if crd := s.observed.CRDs[name]; csvspec.Converts(s.csv, name) < 0 && s.converter(crd) != "" {
			all = append(all, crd)
		}
	}
	return all
}

// converter returns the live Deployment that converts a definition; empty for none.
func (s asServed) converter(crd *apiextensionsv1.CustomResourceDefinition) string {
	namespace, service := owners.ConvertedBy(crd)
	if namespace != s.csv.Namespace {
		return ""
	}
	return s.deploymentBehind(service)
}

func (s asServed) declare(crd *apiextensionsv1.CustomResourceDefinition, deployment string) {
	called := crd.Spec.Conversion.Webhook.ClientConfig.Service
	d := operatorsv1alpha1.WebhookDescription{
		Type: operatorsv1alpha1.ConversionWebhook, GenerateName: crd.Name, DeploymentName: deployment,
		ConversionCRDs: []string{crd.Name}, WebhookPath: called.Path,
		AdmissionReviewVersions: crd.Spec.Conversion.Webhook.ConversionReviewVersions,
	}
	if called.Port != nil {
		d.ContainerPort = *called.Port
	}
	d.TargetPort = s.targetOf(called.Name, d.ContainerPort)
	s.csv.Spec.WebhookDefinitions = append(s.csv.Spec.WebhookDefinitions, d)
}

func (s asServed) targetOf(service string, port int32) *intstr.IntOrString {
	live := s.observed.Services[service]
	if live == nil {
		return nil
	}
	for _, p := range live.Spec.Ports {
		if p.Port == port {
			return new(backends.Target(p))
		}
	}
	return nil
}

// ToRender returns a blocked version as it is called, also if an edit has removed parts: its certificate still expires.
func (in Input) ToRender() *operatorsv1alpha1.ClusterServiceVersion {
	if in.RendersAsServed() {
		return in.asServed(in.CSV)
	}
	return in.withUndeclaredConversions(in.CSV)
}

// RendersAsServed reports whether the version is rendered as it is called, because it must not be installed.
func (in Input) RendersAsServed() bool { return in.RepairsInService() || in.KeepsTrustOnly() }

func (in Input) asServed(csv *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	s := asServed{csv: csv.DeepCopy(), observed: in.Observed}
	for _, live := range in.Observed.registrations() {
		if called := registration.ServiceOf(live.Object); called != nil && called.Namespace == csv.Namespace && csvspec.HasOwnerLabels(live.Object, csv) {
			s.register(live, s.deploymentBehind(called.Name))
		}
	}
	for i := range csv.Spec.WebhookDefinitions {
		s.convert(&s.csv.Spec.WebhookDefinitions[i])
	}
	for _, crd := range s.undeclared() {
		if deployment := s.converter(crd); csvspec.HasOwnerLabels(in.Observed.Deployments[deployment], csv) {
			s.list(deployment)
			s.declare(crd, deployment)
		}
	}
	return s.csv
}

// asServed is a ClusterServiceVersion that is changed to match its registrations.
type asServed struct {
	csv      *operatorsv1alpha1.ClusterServiceVersion
	observed Observed
}

// deploymentBehind returns the live Deployment behind a Service; empty for none.
func (s asServed) deploymentBehind(service string) string {
	return lists.First(slices.Sorted(maps.Keys(s.observed.Deployments)), func(name string) bool {
		return service == names.Service(name) || service == csvspec.AlternateServiceName(s.csv, name)
	})
}

func (s asServed) list(deployment string) {
	specs := &s.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	if !csvspec.HasDeployment(s.csv, deployment) {
		*specs = append(*specs, operatorsv1alpha1.StrategyDeploymentSpec{Name: deployment, Spec: s.observed.Deployments[deployment].Spec})
	}
}

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

func (in Input) endOf(crd *apiextensionsv1.CustomResourceDefinition) conversion.Ending {
	return conversion.EndingOf(crd, in.Observed.ObjectCounts, in.CSV.Annotations[wellknown.AnnotationForceConversion] == "true")
}

// isCalled reports whether a registration or a definition names the Service of a Deployment.
func (f *facts) isCalled(deployment string) bool {
	s := asServed{csv: f.CSV, observed: f.Observed}
	for _, crd := range f.Observed.CRDs {
		if s.converter(crd) == deployment {
			return true
		}
	}
	return slices.ContainsFunc(f.Observed.registrations(), func(live registration.Registration) bool { return f.calls(live, deployment) })
}

func (f *facts) calls(live registration.Registration, deployment string) bool {
	called := registration.ServiceOf(live.Object)
	return called != nil && called.Namespace == f.CSV.Namespace && asServed{csv: f.CSV, observed: f.Observed}.deploymentBehind(called.Name) == deployment
}

func (f *facts) hasService(deployment string) bool {
	s := asServed{csv: f.CSV, observed: f.Observed}
	for service := range f.Observed.Services {
		if s.deploymentBehind(service) == deployment {
			return true
		}
	}
	return false
}

// This happens after an upgrade or an edit.
func (f *facts) servedByOther(d render.Deployment, w render.Webhook) bool {
	live := f.liveOf(w)
	if live == nil || len(w.Conversions) > 0 {
		return false
	}
	called := registration.ServiceOf(live)
	if called == nil || called.Namespace != f.CSV.Namespace {
		return false
	}
	serves := asServed{csv: f.CSV, observed: f.Observed}.deploymentBehind(called.Name)
	return serves != "" && serves != d.Object.Name
}
