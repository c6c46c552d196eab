package installtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Times returns the results of a function for the numbers from 0 to n-1.
func Times[R any](n int, of func(int) R) []R {
	var results []R
	for i := range n {
		results = append(results, of(i))
	}
	return results
}

// Count returns how many items of a list satisfy a condition.
func Count[T any](list []T, satisfies func(T) bool) int { return len(lists.Filter(list, satisfies)) }

// Words returns the lines of a text with one space between words.
func Words(text string) []string {
	return lists.Map(slices.Collect(strings.Lines(text)), func(line string) string { return strings.Join(strings.Fields(line), " ") })
}

// Numbered returns a text of n parts, each formatted with its number.
func Numbered(n int, format string) string {
	return strings.Join(Times(n, func(i int) string { return fmt.Sprintf(format, i) }), "")
}
