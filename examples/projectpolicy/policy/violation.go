package policy

import (
	"fmt"
	"strings"
)

// Violation is one rule of a policy that a namespace breaks.
type Violation struct {
	Policy  string
	Field   string
	Problem string
	Help    string
}

func (c *Compiled) violation(field, problem string) Violation {
	return Violation{Policy: c.policy, Field: field, Problem: problem, Help: c.message}
}

func mismatch(value string, expected *pattern) string {
	return fmt.Sprintf("is %q, %s", value, expected)
}

func missing(expected *pattern) string {
	if expected == nil {
		return "is missing, any value will do"
	}
	return fmt.Sprintf("is missing, %s", expected)
}

func (p *pattern) String() string { return "must match `" + p.source + "` as a whole" }

// Explain returns all violations of a namespace, sorted by policy, so that a user can fix them at once.
func Explain(namespace string, violations []Violation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "namespace %q does not comply", namespace)
	for i, v := range violations {
		switch {
		case i == 0:
			fmt.Fprintf(&b, " with ProjectPolicy %q: ", v.Policy)
		case v.Policy != violations[i-1].Policy:
			fmt.Fprintf(&b, "; and with ProjectPolicy %q: ", v.Policy)
		default:
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s %s", v.Field, v.Problem)
		endsPolicy := i == len(violations)-1 || violations[i+1].Policy != v.Policy
		if endsPolicy && v.Help != "" {
			fmt.Fprintf(&b, " (%s)", v.Help)
		}
	}
	return b.String()
}
