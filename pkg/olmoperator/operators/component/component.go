// Package component names Operators and the labels of their components, and renders the status of an Operator, as
// OLM v0 does.
package component

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// maxName is the maximum length of the part of a label after its prefix.
const maxName = 63

// Operator returns the name of the Operator of a package in a namespace.
func Operator(pkg, namespace string) string { return pkg + "." + namespace }

// Label returns the label of the components of an Operator. It is empty if no label can contain the name. The end of a
// name that is too long is cut off, as by OLM v0.
func Label(operator string) string {
	name := operator
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], ".-_")
	}
	label := wellknown.LabelComponentPrefix + name
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

// Missing returns the component labels that an object lacks, of those that its owner has.
func Missing(owner, object map[string]string) []string {
	return lists.FilterMap(OperatorsOf(owner), func(operator string) (string, bool) {
		label := wellknown.LabelComponentPrefix + operator
		_, exists := object[label]
		return label, !exists
	})
}

// CanExist reports whether an Operator can have a name. Labels can have characters that names cannot have.
func CanExist(operator string) bool { return len(validation.IsDNS1123Subdomain(operator)) == 0 }
