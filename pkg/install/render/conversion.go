package render

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Conversion is the desired spec.conversion of a CRD.
type Conversion struct {
	CRD  string
	Spec apiextensionsv1.CustomResourceConversion
	// Generation is the number of the newest trusted certificate generation.
	Generation int64
	// Delegated is set if the administrator provides the caBundle.
	Delegated bool
	// Annotations are the annotations of the Subscription's config.
	Annotations map[string]string
}

func conversions(in Input, d operatorsv1alpha1.WebhookDescription, port int32) []Conversion {
	path := "/"
	if d.WebhookPath != nil {
		path = *d.WebhookPath
	}
	trust := in.Trust[d.DeploymentName]
	var all []Conversion
	for _, crd := range d.ConversionCRDs {
		all = append(all, Conversion{CRD: crd, Generation: trust.Generation, Delegated: trust.Delegated, Annotations: in.Config.Propagated(), Spec: apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{
					Service: &apiextensionsv1.ServiceReference{
						Namespace: in.CSV.Namespace, Name: in.Services[d.DeploymentName], Path: &path, Port: &port,
					},
					CABundle: trust.CABundle,
				},
				ConversionReviewVersions: d.AdmissionReviewVersions,
			},
		}})
	}
	return all
}
