package installtest

import (
	"fmt"
	"strings"
)

// Each returns the results of a function for the items of a list, or nil if there are none.
func Each[T, R any](list []T, of func(T) R) []R {
	var results []R
	for _, item := range list {
		results = append(results, of(item))
	}
	return results
}

// Times returns the results of a function for the numbers from 0 to n-1.
func Times[R any](n int, of func(int) R) []R {
	var results []R
	for i := range n {
		results = append(results, of(i))
	}
	return results
}

// Where returns the items of a list that satisfy a condition, or nil if none does.
func Where[T any](list []T, satisfies func(T) bool) []T {
	var found []T
	for _, item := range list {
		if satisfies(item) {
			found = append(found, item)
		}
	}
	return found
}

// Count returns how many items of a list satisfy a condition.
func Count[T any](list []T, satisfies func(T) bool) int { return len(Where(list, satisfies)) }

// Numbered returns a text of n parts, each formatted with its number.
func Numbered(n int, format string) string {
	return strings.Join(Times(n, func(i int) string { return fmt.Sprintf(format, i) }), "")
}
