package scope

import (
	"cmp"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// ProvidedAPIs returns the annotation olm.providedAPIs: the kinds that operators of the namespace own,
// sorted. An operator without a phase adds none, because it may conflict with another group. It keeps what the group has.
func ProvidedAPIs(group *operatorsv1.OperatorGroup, csvs []*operatorsv1alpha1.ClusterServiceVersion) string {
	claimants := lists.Map(csvs, func(csv *operatorsv1alpha1.ClusterServiceVersion) Claimant { return Claimant{CSV: csv} })
	annotated := AnnotatedAPIs(group)
	kept := lists.Filter(owned(lists.Filter(claimants, Claimant.isNew)), func(kind string) bool { return slices.Contains(annotated, kind) })
	return strings.Join(lists.Sorted(append(ProvidedBy(claimants), kept...)), ",")
}

func (c Claimant) isNew() bool { return c.CSV.Status.Phase == operatorsv1alpha1.CSVPhaseNone }

// ProvidedBy returns the kinds that operators with a phase own, sorted, with the kinds of existing definitions.
func ProvidedBy(claimants []Claimant) []string {
	return owned(lists.Filter(claimants, func(c Claimant) bool { return !c.isNew() }))
}

// owned omits copies, deleted operators, and operators that may not provide their APIs in the group.
func owned(claimants []Claimant) []string {
	var kinds []string
	for _, c := range claimants {
		if !c.CSV.IsCopied() && c.CSV.DeletionTimestamp == nil && !outsider(c.CSV) {
			kinds = append(kinds, kindsOf(c.apis())...)
		}
	}
	return lists.Sorted(kinds)
}

// API has the name of the CustomResourceDefinition or APIService, and its kind.version.group.
type API struct {
	Name string
	Kind string
}

// The kind of an existing definition counts.
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

// AnnotatedAPIs returns the APIs that the annotation of a group lists. With spec.staticProvidedAPIs, the administrator
// writes them.
func AnnotatedAPIs(group *operatorsv1.OperatorGroup) []string {
	text := group.Annotations[operatorsv1.OperatorGroupProvidedAPIsAnnotationKey]
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// outsider reports whether an operator failed for what its group covers or provides.
func outsider(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return csv.Status.Phase == operatorsv1alpha1.CSVPhaseFailed && slices.Contains([]operatorsv1alpha1.ConditionReason{
		operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup,
		operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict,
		operatorsv1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs,
	}, csv.Status.Reason)
}

// ProvidedAPIsDiffer is false with spec.staticProvidedAPIs: the administrator writes the annotation.
func ProvidedAPIsDiffer(group *operatorsv1.OperatorGroup, provided string) bool {
	return !group.Spec.StaticProvidedAPIs && group.DeletionTimestamp == nil &&
		group.Annotations[operatorsv1.OperatorGroupProvidedAPIsAnnotationKey] != provided
}
