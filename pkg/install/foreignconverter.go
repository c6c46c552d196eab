package install

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

// ServesFor reports whether a Service is one of a version of an operator: it has a name that the
// manager or OLM v0 derives, or it selects the pods of a Deployment, as the Services that bundles
// bring do.
func ServesFor(csv *operatorsv1alpha1.ClusterServiceVersion, service *corev1.Service) bool {
	return service.Namespace == csv.Namespace &&
		slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(d operatorsv1alpha1.StrategyDeploymentSpec) bool {
			derived := service.Name == names.Service(d.Name) || service.Name == AlternateServiceName(csv, d.Name)
			selects := len(service.Spec.Selector) > 0 && labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(d.Spec.Template.Labels))
			return derived || selects
		})
}

// foreignConversion is why the conversion of a definition, which another client has set up, is not
// replaced.
func foreignConversion(crd *apiextensionsv1.CustomResourceDefinition) string {
	const cause = "which does not belong to this ClusterServiceVersion"
	if namespace, service := ConvertedBy(crd); service != "" {
		return fmt.Sprintf("is converted by Service %s/%s, %s: uninstall what the Service belongs to, such as a Helm release, or delete the Service", namespace, service, cause)
	}
	return fmt.Sprintf("is converted by a webhook at the URL in spec.conversion.webhook.clientConfig.url, %s: uninstall what the webhook belongs to, and set spec.conversion to strategy None", cause)
}
