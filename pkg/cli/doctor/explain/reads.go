package explain

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"k8s.io/apiserver/pkg/cel/environment"
)

// read is a field that an expression reads, from the variable on: object.metadata.name.
type read struct {
	path string
	// tested reports whether the expression only tests the existence of the field.
	tested bool
}

// readsOf returns what an expression reads. Of an index or a function it has the field that it is applied to.
func readsOf(expression string) []read {
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.StoredExpressions)
	if err != nil {
		return nil // Without an environment the expression does not compile either.
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return nil
	}
	var all []read
	for _, variable := range ast.MatchDescendants(ast.NavigateAST(parsed.NativeRep()), ast.KindMatcher(ast.IdentKind)) {
		all = append(all, selected(variable))
	}
	return all
}

// selected is the longest path of fields that starts at a variable.
func selected(variable ast.NavigableExpr) read {
	r := read{path: variable.AsIdent()}
	for parent, exists := variable.Parent(); exists && parent.Kind() == ast.SelectKind; parent, exists = parent.Parent() {
		r.path += "." + parent.AsSelect().FieldName()
		r.tested = parent.AsSelect().IsTestOnly()
	}
	return r
}

// reads is what the conditions read, and the variables of their policy.
func (c conditions) reads() []read {
	var all []read
	for _, condition := range c.all {
		all = append(all, readsOf(condition.Expression)...)
	}
	for _, v := range c.variables {
		all = append(all, readsOf(v.Expression)...)
	}
	return all
}

// wrapped returns the conditions with the request of attributesOf.
func (c conditions) wrapped() conditions {
	c.all, c.variables = slices.Clone(c.all), slices.Clone(c.variables)
	for i, condition := range c.all {
		c.all[i].Expression = conditionStart + condition.Expression + conditionEnd
	}
	for i, v := range c.variables {
		c.variables[i].Expression = variableStart + v.Expression + variableEnd
	}
	return c
}

// within reports whether a path is that of a field or of a part of it.
func within(path, field string) bool { return path == field || strings.HasPrefix(path, field+".") }
