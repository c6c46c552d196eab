// Package conversion reads and ends the webhook conversion of CustomResourceDefinitions.
package conversion

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// CallsAlike reports whether a definition calls its webhook as a conversion does, with any trust.
func CallsAlike(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) bool {
	is, wanted := live.Spec.Conversion.Webhook, c.Spec.Webhook
	return equality.Semantic.DeepEqual(is.ClientConfig.Service, wanted.ClientConfig.Service) &&
		slices.Equal(is.ConversionReviewVersions, wanted.ConversionReviewVersions)
}

// Calls requires trust, because a placeholder in a bundle can name the Service without a caBundle.
func Calls(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) bool {
	namespace, service := owners.ConvertedBy(live)
	wanted := c.Spec.Webhook.ClientConfig.Service
	return namespace == wanted.Namespace && service == wanted.Name && HasBundle(live, c.Delegated)
}

// HasBundle reports whether a definition has a caBundle, or another client has to inject it.
func HasBundle(live *apiextensionsv1.CustomResourceDefinition, delegated bool) bool {
	return delegated || len(live.Spec.Conversion.Webhook.ClientConfig.CABundle) > 0
}

// BundleField is the path of the caBundle of a conversion webhook.
var BundleField = fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "conversion", "webhook", "clientConfig", "caBundle"))

// CertificatesOf returns the valid certificates of a caBundle.
func CertificatesOf(bundle []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if ca, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, ca)
		}
	}
	return all
}

// TrustedGeneration is 0 if another client wrote it or another Service converts.
func TrustedGeneration(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) int64 {
	if !Calls(live, c) {
		return 0
	}
	return registration.GenerationOf(live)
}

// WithLiveBundle returns the caBundle that the administrator injects, or else the CA of the certificate.
func WithLiveBundle(c render.Conversion, live *apiextensionsv1.CustomResourceDefinition) render.Conversion {
	if live == nil || !c.Delegated || !Calls(live, c) || len(live.Spec.Conversion.Webhook.ClientConfig.CABundle) == 0 {
		return c
	}
	c.Spec = *c.Spec.DeepCopy()
	c.Spec.Webhook.ClientConfig.CABundle = live.Spec.Conversion.Webhook.ClientConfig.CABundle
	return c
}

// WithLiveCall returns the call of a live conversion with the caBundle of a desired one.
func WithLiveCall(c render.Conversion, live *apiextensionsv1.CustomResourceDefinition) render.Conversion {
	bundle := c.Spec.Webhook.ClientConfig.CABundle
	c.Spec = *live.Spec.Conversion.DeepCopy()
	c.Spec.Webhook.ClientConfig.CABundle = bundle
	return c
}

// BundleOf returns the caBundle of a conversion.
func BundleOf(c *apiextensionsv1.CustomResourceConversion) []byte {
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return nil
	}
	return c.Webhook.ClientConfig.CABundle
}

var (
	// PathField is the path that a conversion calls.
	PathField = conversionField("path")
	// PortField is the port that a conversion calls.
	PortField = conversionField("port")
)

func conversionField(name string) *fieldpath.Set {
	return fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "conversion", "webhook", "clientConfig", "service", name))
}

// CallOf returns Service, port and path for a status; empty if the conversion calls no Service.
func CallOf(c *apiextensionsv1.CustomResourceConversion) string {
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil || c.Webhook.ClientConfig.Service == nil {
		return ""
	}
	return RouteOf(c).At(c.Webhook.ClientConfig.Service.Name)
}

// RouteOf returns the port and path that a conversion calls.
func RouteOf(c *apiextensionsv1.CustomResourceConversion) registration.Route {
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil || c.Webhook.ClientConfig.Service == nil {
		return registration.Route{Port: csvspec.DefaultPort}
	}
	service := c.Webhook.ClientConfig.Service
	return registration.Route{Port: ptr.Deref(service.Port, csvspec.DefaultPort), Path: ptr.Deref(service.Path, "")}
}

// SetUpByOther ignores placeholders, which have no certificate. A write of the manager leaves its annotation or a field.
func SetUpByOther(crd *apiextensionsv1.CustomResourceDefinition) bool {
	conversion := crd.Spec.Conversion
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter || conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil {
		return false
	}
	wrote := func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == wellknown.FieldManager && !drift.ConversionFields(entry).Union(drift.FieldsOf(entry).Intersection(drift.GenerationField)).Empty()
	}
	called := conversion.Webhook.ClientConfig
	return (called.URL != nil || len(CertificatesOf(called.CABundle)) > 0) && !slices.ContainsFunc(crd.ManagedFields, wrote)
}

// LastOtherWriter prefers the owner of the conversion. It is empty for several writers within one second.
func LastOtherWriter(crd *apiextensionsv1.CustomResourceDefinition) (by string, at time.Time) {
	var writers, owners []string
	for _, entry := range crd.ManagedFields {
		if entry.Time == nil || entry.Subresource != "" || entry.Manager == wellknown.FieldManager || entry.Time.Time.Before(at) {
			continue
		}
		if entry.Time.After(at) {
			writers, owners, at = nil, nil, entry.Time.Time
		}
		writers = append(writers, entry.Manager)
		if !drift.ConversionFields(entry).Empty() {
			owners = append(owners, entry.Manager)
		}
	}
	for _, candidates := range [][]string{writers, owners} {
		slices.Sort(candidates)
		if candidates = slices.Compact(candidates); len(candidates) == 1 {
			return candidates[0], at
		}
	}
	return "", time.Time{}
}
