package csvspec

import (
	"cmp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Converts returns the index of the conversion webhook of a CSV for a CRD, or -1.
func Converts(csv *operatorsv1alpha1.ClusterServiceVersion, crd string) int {
	return slices.IndexFunc(csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) bool {
		return d.Type == operatorsv1alpha1.ConversionWebhook && slices.Contains(d.ConversionCRDs, crd)
	})
}

// ConversionCRDs returns the CRDs that a CSV converts.
func ConversionCRDs(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	return slices.Concat(lists.Map(csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) []string { return d.ConversionCRDs })...)
}

// PendingConversion returns the conversion of a CRD until the manager sets up the one that the CSV declares; nil if it
// declares none. It names the Service that the webhook will have, whose CA is not known yet. One version needs none.
func PendingConversion(csv *operatorsv1alpha1.ClusterServiceVersion, crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceConversion {
	i := Converts(csv, crd.Name)
	switch {
	case i < 0:
		return nil
	case len(crd.Spec.Versions) < 2:
		return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	d := csv.Spec.WebhookDefinitions[i]
	return &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{
				Namespace: csv.Namespace, Name: ServiceName(csv, d.DeploymentName, false, false), Path: d.WebhookPath,
			}},
			ConversionReviewVersions: d.AdmissionReviewVersions,
		},
	}
}

// CRDVersion formats a version of a CRD as in wellknown.AnnotationAwaitedVersions.
func CRDVersion(crd, version string) string { return crd + "/" + version }

// CRDDescriptions returns the owned and the required CRDs of a CSV, sorted and without duplicates.
func CRDDescriptions(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.CRDDescription {
	all := slices.Concat(csv.Spec.CustomResourceDefinitions.Owned, csv.Spec.CustomResourceDefinitions.Required)
	slices.SortStableFunc(all, func(a, b operatorsv1alpha1.CRDDescription) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return slices.CompactFunc(all, func(a, b operatorsv1alpha1.CRDDescription) bool { return a.Name == b.Name && a.Version == b.Version })
}

// RequiredCRDs returns the names of the CRDs that a CSV owns, requires or converts.
func RequiredCRDs(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	names := lists.Map(CRDDescriptions(csv), func(d operatorsv1alpha1.CRDDescription) string { return d.Name })
	return lists.Sorted(append(names, ConversionCRDs(csv)...))
}

// OwnedNames returns the names of the CRDs and APIServices that a CSV owns.
func OwnedNames(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	return lists.Sorted(append(OwnedCRDs(csv), APIServices(csv)...))
}

// OwnedCRDs returns the names of the owned CRDs.
func OwnedCRDs(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	return lists.Map(csv.Spec.CustomResourceDefinitions.Owned, func(d operatorsv1alpha1.CRDDescription) string { return d.Name })
}

// APIServices returns the names of the owned APIServices.
func APIServices(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	return lists.Map(csv.Spec.APIServiceDefinitions.Owned, func(d operatorsv1alpha1.APIServiceDescription) string {
		return APIServiceName(d.Group, d.Version)
	})
}
