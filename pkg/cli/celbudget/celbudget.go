// Package celbudget limits how many expressions in CEL of a bundle are compiled.
package celbudget

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	// maxCEL is how many bytes of CEL are compiled, in up to 15 microseconds each. Published bundles have 1 KiB.
	maxCEL = 64 << 10
	// celOverhead is what each expression counts for, in addition to its text.
	celOverhead = 64
)

// Budget is what is left of the limit. The zero value has spent nothing.
type Budget struct{ spent int }

// Spend counts an expression. It returns false once there are too many.
func (b *Budget) Spend(expression string) bool {
	b.spent += len(expression) + celOverhead
	return b.spent <= maxCEL
}

// Exceeded is the message that something has too many expressions.
func (b *Budget) Exceeded(what string) string {
	return fmt.Sprintf("%s have more expressions in CEL than are compiled here (%d KiB): the API server compiles them", what, maxCEL>>10)
}

// SpendSchema counts the rules of a schema. It returns false once there are too many.
func (b *Budget) SpendSchema(s *apiextensionsv1.JSONSchemaProps) bool {
	if s == nil {
		return true
	}
	for _, rule := range s.XValidations {
		if !b.Spend(rule.Rule + rule.MessageExpression) {
			return false
		}
	}
	return !slices.ContainsFunc(schemasIn(s), func(inside *apiextensionsv1.JSONSchemaProps) bool { return !b.SpendSchema(inside) })
}

func schemasIn(s *apiextensionsv1.JSONSchemaProps) []*apiextensionsv1.JSONSchemaProps {
	all := []*apiextensionsv1.JSONSchemaProps{s.Not}
	for _, m := range []map[string]apiextensionsv1.JSONSchemaProps{s.Properties, s.PatternProperties} {
		for _, inside := range m {
			all = append(all, &inside)
		}
	}
	for _, l := range [][]apiextensionsv1.JSONSchemaProps{s.AllOf, s.AnyOf, s.OneOf} {
		for i := range l {
			all = append(all, &l[i])
		}
	}
	if s.Items != nil {
		all = append(all, s.Items.Schema)
		for i := range s.Items.JSONSchemas {
			all = append(all, &s.Items.JSONSchemas[i])
		}
	}
	if s.AdditionalProperties != nil {
		all = append(all, s.AdditionalProperties.Schema)
	}
	return all
}

// Affordable reports whether the rules of a definition may be compiled.
func (b *Budget) Affordable(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return !slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Schema != nil && !b.SpendSchema(v.Schema.OpenAPIV3Schema)
	})
}
