package scope

import (
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// ProvidedAPIs is what the annotation olm.providedAPIs of an OperatorGroup says: the
// kinds that the operators of its namespace own, as kind.version.group, sorted. Copies
// own nothing, and one that is being deleted does not any more.
func ProvidedAPIs(csvs []*operatorsv1alpha1.ClusterServiceVersion) string {
	var kinds []string
	for _, csv := range csvs {
		if csv.IsCopied() || csv.DeletionTimestamp != nil {
			continue
		}
		for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
			if _, group, ok := strings.Cut(d.Name, "."); ok {
				kinds = append(kinds, d.Kind+"."+d.Version+"."+group)
			}
		}
		for _, d := range csv.Spec.APIServiceDefinitions.Owned {
			kinds = append(kinds, d.Kind+"."+d.Version+"."+d.Group)
		}
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), ",")
}

// ProvidedAPIsDiffer tells whether the annotation of a group is to be written. That of a
// group with spec.staticProvidedAPIs is its administrator's.
func ProvidedAPIsDiffer(group *operatorsv1.OperatorGroup, provided string) bool {
	return !group.Spec.StaticProvidedAPIs && group.DeletionTimestamp == nil &&
		group.Annotations[operatorsv1.OperatorGroupProvidedAPIsAnnotationKey] != provided
}
