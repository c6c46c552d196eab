package show

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// byDanger sorts the most dangerous first. Equals stay in their order.
func byDanger[T any](all []T, danger func(T) int) []T {
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(danger(b), danger(a)) })
	return all
}

// distinct returns each item once, in the order of its first occurrence.
func distinct(items []string) []string {
	seen := sets.New[string]()
	return slices.DeleteFunc(items, func(item string) bool {
		repeated := seen.Has(item)
		seen.Insert(item)
		return repeated
	})
}

func qualified(groups, resources []string) []string {
	var all []string
	for _, group := range groups {
		for _, resource := range resources {
			all = append(all, strings.TrimSuffix(resource+"."+group, "."))
		}
	}
	return all
}
