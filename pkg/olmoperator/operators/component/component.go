// Package component names Operators and the labels of their components, and renders the status of an Operator, as
// OLM v0 does.
package component

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// maxName is the maximum length of the part of a label after its prefix.
const maxName = 63

// Operator returns the name of the Operator of a package in a namespace.
func Operator(pkg, namespace string) string { return pkg + "." + namespace }

// Shortened returns the name of an Operator as labels contain it: the end of a name that is too long is cut off, as by
// OLM v0.
func Shortened(operator string) string {
	if len(operator) > maxName {
		return strings.TrimRight(operator[:maxName], ".-_")
	}
	return operator
}

// Label returns the label of the components of an Operator. It is empty if no label can contain the name.
func Label(operator string) string {
	label := wellknown.LabelComponentPrefix + Shortened(operator)
	if len(validation.IsQualifiedName(label)) > 0 {
		return ""
	}
	return label
}

// OperatorsOf returns the names of the Operators whose components have one of some labels. A name may be shortened.
func OperatorsOf(labels map[string]string) []string {
	var names []string
	for label := range labels {
		if name, ok := strings.CutPrefix(label, wellknown.LabelComponentPrefix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Missing returns the component labels that an object lacks, out of the labels of its owner.
func Missing(owner, object map[string]string) []string {
	return lists.FilterMap(OperatorsOf(owner), func(operator string) (string, bool) {
		label := wellknown.LabelComponentPrefix + operator
		_, exists := object[label]
		return label, !exists
	})
}

// CanExist reports whether an Operator can have a name. Labels allow more characters than names.
func CanExist(operator string) bool { return len(validation.IsDNS1123Subdomain(operator)) == 0 }

// IsExecuted reports whether catalog-operator works on an InstallPlan. If another client changes the InstallPlan
// meanwhile, catalog-operator cannot write its status, and executes all steps again.
func IsExecuted(plan *operatorsv1alpha1.InstallPlan) bool {
	switch plan.Status.Phase {
	case operatorsv1alpha1.InstallPlanPhaseRequiresApproval, operatorsv1alpha1.InstallPlanPhaseComplete, operatorsv1alpha1.InstallPlanPhaseFailed:
		return false
	default:
		return true
	}
}
