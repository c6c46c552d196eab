package csvspec

import (
	"cmp"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Converts is the index of the description by which a ClusterServiceVersion converts the
// objects of a CustomResourceDefinition; -1 when there is none.
func Converts(csv *operatorsv1alpha1.ClusterServiceVersion, crd string) int {
	return slices.IndexFunc(csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) bool {
		return d.Type == operatorsv1alpha1.ConversionWebhook && slices.Contains(d.ConversionCRDs, crd)
	})
}

// CRDVersion is how wellknown.AnnotationAwaitedVersions names one.
func CRDVersion(crd, version string) string { return crd + "/" + version }

func CRDDescriptions(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.CRDDescription {
	all := slices.Concat(csv.Spec.CustomResourceDefinitions.Owned, csv.Spec.CustomResourceDefinitions.Required)
	slices.SortStableFunc(all, func(a, b operatorsv1alpha1.CRDDescription) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
	})
	return slices.CompactFunc(all, func(a, b operatorsv1alpha1.CRDDescription) bool { return a.Name == b.Name && a.Version == b.Version })
}

// RequiredCRDs are the names of all CustomResourceDefinitions that a
// ClusterServiceVersion depends on: owned, required, or converted.
func RequiredCRDs(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	var names []string
	for _, description := range CRDDescriptions(csv) {
		names = append(names, description.Name)
	}
	for _, d := range csv.Spec.WebhookDefinitions {
		names = append(names, d.ConversionCRDs...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
