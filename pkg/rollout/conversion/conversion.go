// Package conversion reads and ends the webhook conversion of CustomResourceDefinitions.
package conversion

import (
	"crypto/x509"
	"encoding/pem"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// CallsAlike tells whether a definition calls its webhook as a conversion wants it,
// whatever it trusts.
func CallsAlike(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) bool {
	is, wanted := live.Spec.Conversion.Webhook, c.Spec.Webhook
	return equality.Semantic.DeepEqual(is.ClientConfig.Service, wanted.ClientConfig.Service) &&
		slices.Equal(is.ConversionReviewVersions, wanted.ConversionReviewVersions)
}

// Calls tells whether a definition names the Service of a conversion, and trusts it:
// whoever opened the definition may have named the Service before anybody served.
func Calls(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) bool {
	namespace, service := owners.ConvertedBy(live)
	wanted := c.Spec.Webhook.ClientConfig.Service
	return namespace == wanted.Namespace && service == wanted.Name && HasBundle(live, c.Delegated)
}

// HasBundle tells whether a definition has a caBundle. It may lack one where another than the
// manager is to put it there.
func HasBundle(live *apiextensionsv1.CustomResourceDefinition, delegated bool) bool {
	return delegated || len(live.Spec.Conversion.Webhook.ClientConfig.CABundle) > 0
}

// BundleField is the caBundle of a conversion.
var BundleField = fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "conversion", "webhook", "clientConfig", "caBundle"))

// CertificatesOf are the certificates of a caBundle that can be read.
func CertificatesOf(bundle []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if ca, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, ca)
		}
	}
	return all
}

// TrustedGeneration is the number of the newest certificate generation that a
// definition's conversion trusts, as the manager wrote it; 0 when another client did, and
// when another Service converts it.
func TrustedGeneration(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) int64 {
	if !Calls(live, c) {
		return 0
	}
	return registration.GenerationOf(live)
}

// WithLiveBundle is a conversion as it is to be while the caBundle is the administrator's:
// with the one that is live, or, where none is, the one that came with the certificate:
// a CustomResourceDefinition cannot be registered without being converted.
func WithLiveBundle(c render.Conversion, live *apiextensionsv1.CustomResourceDefinition) render.Conversion {
	if live == nil || !c.Delegated || !Calls(live, c) || len(live.Spec.Conversion.Webhook.ClientConfig.CABundle) == 0 {
		return c
	}
	c.Spec = *c.Spec.DeepCopy()
	c.Spec.Webhook.ClientConfig.CABundle = live.Spec.Conversion.Webhook.ClientConfig.CABundle
	return c
}
