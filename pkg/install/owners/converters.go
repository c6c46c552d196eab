package owners

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// ConvertedBy returns the namespace and the name of the Service of a CRD; both empty for none.
func ConvertedBy(crd *apiextensionsv1.CustomResourceDefinition) (namespace, service string) {
	c := crd.Spec.Conversion
	if c == nil || c.Strategy != apiextensionsv1.WebhookConverter || c.Webhook == nil || c.Webhook.ClientConfig == nil || c.Webhook.ClientConfig.Service == nil {
		return "", ""
	}
	return c.Webhook.ClientConfig.Service.Namespace, c.Webhook.ClientConfig.Service.Name
}

// Converters returns the Services that convert for a CSV, also a deleted one that an owned CRD still names: the
// deletion of a namespace deletes the Services first, and the conversion would remain without a server. A Service that
// only a definition owns was left by a version that no longer exists.
func Converters(csv *operatorsv1alpha1.ClusterServiceVersion, services []*corev1.Service, crds []*apiextensionsv1.CustomResourceDefinition) map[string]bool {
	converters, foreign := map[string]bool{}, map[string]bool{}
	for _, s := range services {
		isLeft := len(s.OwnerReferences) > 0 && len(WithoutDefinitionOwners(s)) == 0
		if csvspec.HasOwnerLabels(s, csv) {
			converters[s.Name] = true
		} else if !isLeft && (csvspec.IsManaged(s) || !csvspec.Owns(csv, s)) { // another client may have removed the labels
			foreign[s.Name] = true
		}
	}
	for _, crd := range crds {
		namespace, service := ConvertedBy(crd)
		if i := csvspec.Converts(csv, crd.Name); i >= 0 && namespace == csv.Namespace && !foreign[service] {
			deployment := csv.Spec.WebhookDefinitions[i].DeploymentName
			if slices.Contains([]string{names.Service(deployment), csvspec.AlternateServiceName(csv, deployment)}, service) {
				converters[service] = true
			}
		}
	}
	return converters
}

// IsServiceOf compares derived names, also OLM v0's, and selectors, as a Service in a bundle has.
func IsServiceOf(csv *operatorsv1alpha1.ClusterServiceVersion, service *corev1.Service) bool {
	return service.Namespace == csv.Namespace &&
		slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(d operatorsv1alpha1.StrategyDeploymentSpec) bool {
			derived := service.Name == names.Service(d.Name) || service.Name == csvspec.AlternateServiceName(csv, d.Name)
			selects := len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels))
			return derived || selects
		})
}

// Backends are the Deployments and Services of a namespace.
type Backends struct {
	Deployments []*appsv1.Deployment
	Services    []*corev1.Service
}

// Installed reports whether a CSV owns one of its Deployments. One that failed before owns none.
func (b Backends) Installed(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
		return csvspec.OwnsNamed(csv, b.Deployments, spec.Name)
	})
}

// Serve reports whether a CSV owns a Deployment and its Service, which outlive another version.
func (b Backends) Serve(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string) bool {
	return csvspec.OwnsNamed(csv, b.Deployments, deployment) &&
		(csvspec.OwnsNamed(csv, b.Services, names.Service(deployment)) || csvspec.OwnsNamed(csv, b.Services, csvspec.AlternateServiceName(csv, deployment)))
}

// ServesAny reports whether a ClusterServiceVersion has a backend for any of its webhooks.
func (b Backends) ServesAny(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
		return b.Serve(csv, spec.Name)
	})
}
