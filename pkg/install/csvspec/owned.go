package csvspec

import (
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// OwnedNames are the names of the CustomResourceDefinitions and APIServices that a
// ClusterServiceVersion owns.
func OwnedNames(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	all := append(OwnedCRDs(csv), APIServices(csv)...)
	slices.Sort(all)
	return slices.Compact(all)
}

func OwnedCRDs(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	var names []string
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		names = append(names, d.Name)
	}
	return names
}

func APIServices(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	var names []string
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		names = append(names, APIServiceName(d.Group, d.Version))
	}
	return names
}
