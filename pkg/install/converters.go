package install

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

// Converters are the names of the Services by which a ClusterServiceVersion converts: its own
// among those of its Namespace, and the one that a definition which it declares still names by
// its name for it, though nobody has such a Service any more. A Namespace that is deleted takes
// the Services first, and the conversion would stay behind with nobody to mend it.
func Converters(csv *operatorsv1alpha1.ClusterServiceVersion, services []*corev1.Service, crds []*apiextensionsv1.CustomResourceDefinition) map[string]bool {
	converters, foreign := map[string]bool{}, map[string]bool{}
	for _, s := range services {
		if Labelled(s, csv) {
			converters[s.Name] = true
		} else {
			foreign[s.Name] = true
		}
	}
	for _, crd := range crds {
		namespace, service := ConvertedBy(crd)
		if i := Converts(csv, crd.Name); i >= 0 && namespace == csv.Namespace && !foreign[service] {
			deployment := csv.Spec.WebhookDefinitions[i].DeploymentName
			if slices.Contains([]string{names.Service(deployment), AlternateServiceName(csv, deployment)}, service) {
				converters[service] = true
			}
		}
	}
	return converters
}
