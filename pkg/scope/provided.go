package scope

import (
	"cmp"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// ProvidedAPIs returns the annotation olm.providedAPIs of an OperatorGroup: the kinds that the
// operators of its namespace own, as kind.version.group, sorted. Copies, operators that are being
// deleted, and operators that may not provide their APIs in the group do not count.
func ProvidedAPIs(csvs []*operatorsv1alpha1.ClusterServiceVersion) string {
	var kinds []string
	for _, csv := range csvs {
		if !csv.IsCopied() && csv.DeletionTimestamp == nil && !outsider(csv) {
			kinds = append(kinds, kindsOf(Claimant{CSV: csv}.apis())...)
		}
	}
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), ",")
}

// API is what an operator provides. Name identifies it: the name of the CustomResourceDefinition, which
// is resource and group, or of the APIService, which is version and group. Kind is
// kind.version.group, for people and for the annotation olm.providedAPIs.
type API struct {
	Name string
	Kind string
}

// apis returns what a claimant provides. If a definition exists, its kind counts instead of the one
// in the ClusterServiceVersion.
func (c Claimant) apis() []API {
	var all []API
	for _, d := range c.CSV.Spec.CustomResourceDefinitions.Owned {
		if _, group, ok := strings.Cut(d.Name, "."); ok {
			all = append(all, API{Name: d.Name, Kind: cmp.Or(c.Kinds[d.Name], d.Kind) + "." + d.Version + "." + group})
		}
	}
	for _, d := range c.CSV.Spec.APIServiceDefinitions.Owned {
		all = append(all, API{Name: d.Version + "." + d.Group, Kind: d.Kind + "." + d.Version + "." + d.Group})
	}
	slices.SortFunc(all, func(a, b API) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	return slices.Compact(all)
}

// annotatedAPIs returns the kinds in the annotation of an OperatorGroup.
func annotatedAPIs(group *operatorsv1.OperatorGroup) []string {
	text := group.Annotations[operatorsv1.OperatorGroupProvidedAPIsAnnotationKey]
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// outsider reports whether an operator failed for what its group covers or provides.
func outsider(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	switch csv.Status.Reason {
	case operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup,
		operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict,
		operatorsv1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs:
		return csv.Status.Phase == operatorsv1alpha1.CSVPhaseFailed
	default:
		return false
	}
}

// ProvidedAPIsDiffer reports whether the annotation of a group has to be written. With
// spec.staticProvidedAPIs, the administrator writes it.
func ProvidedAPIsDiffer(group *operatorsv1.OperatorGroup, provided string) bool {
	return !group.Spec.StaticProvidedAPIs && group.DeletionTimestamp == nil &&
		group.Annotations[operatorsv1.OperatorGroupProvidedAPIsAnnotationKey] != provided
}
