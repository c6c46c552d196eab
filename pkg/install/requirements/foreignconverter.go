package requirements

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// foreignConversion is why the conversion of a definition, which another client has set up, is not
// replaced.
func foreignConversion(crd *apiextensionsv1.CustomResourceDefinition) string {
	const cause = "which does not belong to this ClusterServiceVersion"
	if namespace, service := owners.ConvertedBy(crd); service != "" {
		return fmt.Sprintf("is converted by Service %s/%s, %s: uninstall what the Service belongs to, such as a Helm release, or delete the Service", namespace, service, cause)
	}
	return fmt.Sprintf("is converted by a webhook at the URL in spec.conversion.webhook.clientConfig.url, %s: uninstall what the webhook belongs to, and set spec.conversion to strategy None", cause)
}
