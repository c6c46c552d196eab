package scope

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Rival is an operator of another OperatorGroup. CSV is nil for a group with an administrator's list.
type Rival struct {
	Claimant
	Scope Scope
}

// Conflict returns why an operator may not provide its APIs: a rival, or the list of its group, forbids them.
func (s Scope) Conflict(own Claimant, rivals []Rival) *Failure {
	var unlisted []string
	if s.Group.Spec.StaticProvidedAPIs {
		listed := AnnotatedAPIs(s.Group)
		unlisted = lists.Filter(kindsOf(own.apis()), func(kind string) bool { return !slices.Contains(listed, kind) })
	}
	rival := s.rival(own, rivals)
	switch {
	case rival != nil && (len(unlisted) > 0 || !s.Group.Spec.StaticProvidedAPIs):
		return interGroupConflict(s, rival, own)
	case rival != nil || len(unlisted) > 0:
		return staticAPIs(s, unlisted, rival)
	default:
		return nil
	}
}

// It has the better right to an API, for one of the same namespaces.
func (s Scope) rival(own Claimant, rivals []Rival) *Rival {
	for i, r := range rivals {
		if r.Scope.Group.UID != s.Group.UID && len(r.provides(own)) > 0 && s.meets(r.Scope) != "" &&
			(r.CSV == nil || r.Precedes(own)) {
			return &rivals[i]
		}
	}
	return nil
}

// provides compares names: the kind or version may differ. A group lists only kinds.
func (r Rival) provides(own Claimant) []string {
	if r.CSV == nil {
		return common(kindsOf(own.apis()), AnnotatedAPIs(r.Scope.Group))
	}
	theirs := sets.New(lists.Map(r.apis(), func(api API) string { return api.Name })...)
	return kindsOf(slices.DeleteFunc(own.apis(), func(api API) bool { return !theirs.Has(api.Name) }))
}

func kindsOf(apis []API) []string {
	return slices.Compact(lists.Map(apis, func(api API) string { return api.Kind }))
}

func (r Rival) String() string {
	group := fmt.Sprintf("OperatorGroup %s/%s", r.Scope.Group.Namespace, r.Scope.Group.Name)
	if r.CSV == nil {
		return group
	}
	return fmt.Sprintf("ClusterServiceVersion %s/%s of %s", r.CSV.Namespace, r.CSV.Name, group)
}

// As in OLM v0, a group covers its own namespace, too. Empty without a namespace in common.
func (s Scope) meets(other Scope) string {
	switch one, two := s.covered(), other.covered(); {
	case slices.Contains(one, metav1.NamespaceAll) || slices.Contains(two, metav1.NamespaceAll):
		return "all namespaces"
	default:
		if both := common(one, two); len(both) > 0 {
			return "namespace " + both[0]
		}
		return ""
	}
}

func (s Scope) covered() []string {
	if slices.Contains(s.Namespaces, metav1.NamespaceAll) {
		return s.Namespaces
	}
	return append(slices.Clone(s.Namespaces), s.Group.Namespace)
}

func interGroupConflict(s Scope, rival *Rival, own Claimant) *Failure {
	return &Failure{
		Reason: operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict,
		Message: fmt.Sprintf("intersecting operatorgroups provide the same apis: %s provides %s, and both groups cover %s: delete one of the operators, or give one of the groups other targets",
			rival, strings.Join(rival.provides(own), ", "), s.meets(rival.Scope)),
	}
}

func staticAPIs(s Scope, unlisted []string, rival *Rival) *Failure {
	cause := fmt.Sprintf("add %s to the annotation olm.providedAPIs of OperatorGroup %s, or unset its spec.staticProvidedAPIs", strings.Join(unlisted, ", "), s.Group.Name)
	if rival != nil {
		cause = fmt.Sprintf("%s provides them, too, and both groups cover %s", rival, s.meets(rival.Scope))
	}
	return &Failure{
		Reason:  operatorsv1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs,
		Message: "static provided api operatorgroup cannot be modified by these apis: " + cause,
	}
}

func common(one, other []string) []string {
	return lists.Filter(one, func(s string) bool { return slices.Contains(other, s) })
}
