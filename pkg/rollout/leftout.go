package rollout

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// withLeftOut is a ClusterServiceVersion with the conversions that it does not declare any more, that
// objects need, and that Deployments which it lists serve. Until spec.conversion ends, the Deployment
// has to serve it (docs/adr/0056-conversions-left-out.md).
func (in Input) withLeftOut(csv *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	inUse := slices.DeleteFunc(in.leftOutOfListed(csv), func(crd *apiextensionsv1.CustomResourceDefinition) bool { return in.endOf(crd) == conversion.Ends })
	if len(inUse) == 0 {
		return csv
	}
	s := asServed{csv: csv.DeepCopy(), observed: in.Observed}
	for _, crd := range inUse {
		s.declare(crd, s.converter(crd))
	}
	return s.csv
}

// uncounted are the names of the definitions of which it must be known whether they have objects,
// before it is known what a Deployment has to serve.
func (in Input) uncounted() (names []string) {
	for _, crd := range in.leftOutOfListed(in.CSV) {
		if in.endOf(crd) == conversion.EndUnknown {
			names = append(names, crd.Name)
		}
	}
	return names
}

// leftOutOfListed are the definitions that Deployments convert which a ClusterServiceVersion lists,
// and that it does not convert by its own account.
func (in Input) leftOutOfListed(csv *operatorsv1alpha1.ClusterServiceVersion) []*apiextensionsv1.CustomResourceDefinition {
	s := asServed{csv: csv, observed: in.Observed}
	return slices.DeleteFunc(s.leftOut(), func(crd *apiextensionsv1.CustomResourceDefinition) bool { return !lists(csv, s.converter(crd)) })
}

// leftOut are the definitions that Deployments of the namespace convert and that the
// ClusterServiceVersion does not convert by its own account, in the order of their names.
func (s asServed) leftOut() (all []*apiextensionsv1.CustomResourceDefinition) {
	for _, name := range slices.Sorted(maps.Keys(s.observed.CRDs)) {
		if crd := s.observed.CRDs[name]; csvspec.Converts(s.csv, name) < 0 && s.converter(crd) != "" {
			all = append(all, crd)
		}
	}
	return all
}

// converter is the live Deployment that converts a definition; empty when none of the namespace
// does.
func (s asServed) converter(crd *apiextensionsv1.CustomResourceDefinition) string {
	namespace, service := owners.ConvertedBy(crd)
	if namespace != s.csv.Namespace {
		return ""
	}
	return s.behind(service)
}

// declare adds the description of a conversion as API servers call it.
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

// targetOf is where a port of a live Service leads; nil when it does not exist.
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

// isCalled reports whether API servers call a Deployment: its Service is in a registration, or in
// spec.conversion of a definition.
func (p *planner) isCalled(deployment string) bool {
	s := asServed{csv: p.CSV, observed: p.Observed}
	for _, crd := range p.Observed.CRDs {
		if s.converter(crd) == deployment {
			return true
		}
	}
	return slices.ContainsFunc(p.Observed.registrations(), func(live registration.Registration) bool {
		called := registration.ServiceOf(live.Object)
		return called != nil && called.Namespace == p.CSV.Namespace && s.behind(called.Name) == deployment
	})
}
