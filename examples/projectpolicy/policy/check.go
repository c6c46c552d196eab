package policy

import (
	"fmt"
	"slices"
	"strings"
)

// Namespace has the fields of a namespace that policies apply to.
type Namespace struct {
	Name   string
	Labels map[string]string
}

// Check returns every broken rule, sorted by policy; within a policy, the name is first and the labels follow in order.
func Check(namespace Namespace, policies []*Compiled) []Violation {
	var violations []Violation
	for _, p := range policies {
		if !p.exempts(namespace.Name) {
			violations = append(violations, p.check(namespace)...)
		}
	}
	return violations
}

func (c *Compiled) check(namespace Namespace) []Violation {
	var violations []Violation
	if !c.name.matches(namespace.Name) {
		violations = append(violations, c.violation("metadata.name", mismatch(namespace.Name, c.name)))
	}
	for _, label := range c.labels {
		field := "metadata.labels[" + label.key + "]"
		value, present := namespace.Labels[label.key]
		switch {
		case !present:
			violations = append(violations, c.violation(field, missing(label.value)))
		case !label.value.matches(value):
			violations = append(violations, c.violation(field, mismatch(value, label.value)))
		}
	}
	return violations
}

// Introduced returns the violations that a change adds. Existing violations do not count, so that
// users can still label a namespace that is older than a policy, and correct one label at a time.
func Introduced(before, after []Violation) []Violation {
	return slices.DeleteFunc(slices.Clone(after), func(v Violation) bool {
		return slices.Contains(before, v)
	})
}

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
