package controller

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// definitions are those of the custom resources that the webhooks of a
// ClusterServiceVersion name.
func (c *gatherer) definitions(csv *operatorsv1alpha1.ClusterServiceVersion) []*apiextensionsv1.CustomResourceDefinition {
	var found []*apiextensionsv1.CustomResourceDefinition
	for _, d := range csv.Spec.WebhookDefinitions[:csvspec.WebhooksWithinLimit(csv)] {
		for _, rule := range d.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					if crd := c.caches.CRDs.Get("", resource+"."+group); crd != nil {
						found = append(found, crd)
					}
				}
			}
		}
	}
	return found
}
