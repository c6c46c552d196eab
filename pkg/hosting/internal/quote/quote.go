// Package quote lists values in messages.
package quote

import (
	"fmt"
	"strings"
)

// List returns the values in quotation marks, as in: "a", "b" and "c".
func List[T any](values []T) string {
	if len(values) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, v := range values {
		switch {
		case i == 0:
		case i == len(values)-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", fmt.Sprint(v))
	}
	return b.String()
}
