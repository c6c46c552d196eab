package policy

import "slices"

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
