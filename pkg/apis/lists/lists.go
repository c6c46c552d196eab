// Package lists has the loops over slices and maps that the standard library does not have.
package lists

import (
	"cmp"
	"maps"
	"slices"
)

// Map returns the result of a function for each item; nil for no items.
func Map[T, R any](items []T, of func(T) R) []R {
	var all []R
	for _, item := range items {
		all = append(all, of(item))
	}
	return all
}

// Filter returns the items that match; nil for none.
func Filter[T any](items []T, matches func(T) bool) []T {
	var all []T
	for _, item := range items {
		if matches(item) {
			all = append(all, item)
		}
	}
	return all
}

// FilterMap returns the results of a function for the items for which it reports true; nil for none.
func FilterMap[T, R any](items []T, of func(T) (R, bool)) []R {
	var all []R
	for _, item := range items {
		if result, ok := of(item); ok {
			all = append(all, result)
		}
	}
	return all
}

// Unique returns the first item of each key; nil for no items.
func Unique[T any, K comparable](items []T, key func(T) K) []T {
	known := make(map[K]bool, len(items))
	var all []T
	for _, item := range items {
		if k := key(item); !known[k] {
			known[k] = true
			all = append(all, item)
		}
	}
	return all
}

// Distinct returns each item once, in the order of the first ones; nil for no items.
func Distinct[T comparable](items []T) []T {
	return Unique(items, func(item T) T { return item })
}

// Sorted returns each item once, in their order; nil for no items.
func Sorted[T cmp.Ordered](items []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(items)))
}

// Texts returns the texts of items; nil for no items.
func Texts[T ~string](items []T) []string {
	return Map(items, func(item T) string { return string(item) })
}

// First returns the first item that matches; the zero value if there is none.
func First[T any](items []T, matches func(T) bool) T {
	var first T
	if i := slices.IndexFunc(items, matches); i >= 0 {
		first = items[i]
	}
	return first
}

// ByKey returns the values of a map in the order of their keys; nil for an empty map.
func ByKey[K cmp.Ordered, V any](m map[K]V) []V {
	return Map(slices.Sorted(maps.Keys(m)), func(key K) V { return m[key] })
}
