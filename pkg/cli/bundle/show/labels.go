package show

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func labelText(heading string, pairs map[string]string) string {
	if len(pairs) == 0 {
		return ""
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		all = append(all, key+"="+pairs[key])
	}
	return heading + " " + strings.Join(all, ", ")
}

// selectorText returns the conditions of a selector; empty if it selects everything.
func selectorText(selector *metav1.LabelSelector) string {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return ""
	}
	return metav1.FormatLabelSelector(selector)
}
