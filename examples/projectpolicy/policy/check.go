package policy

import "slices"

// Namespace is the part of a namespace that policies speak about.
type Namespace struct {
	Name   string
	Labels map[string]string
}

// Check returns every rule that the namespace breaks, in the order of the
// policies and, within one, the name first and then the labels as listed. A
// namespace has to satisfy all policies that do not exempt it.
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

// Introduced returns the violations that a change brings in. Violations that were
// there before do not count: a namespace older than a policy can still be
// labelled by its users, and corrected one label at a time.
func Introduced(before, after []Violation) []Violation {
	return slices.DeleteFunc(slices.Clone(after), func(v Violation) bool {
		return slices.Contains(before, v)
	})
}
