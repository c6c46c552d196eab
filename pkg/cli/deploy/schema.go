package deploy

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// schema is what an API server asks of the objects of one version. All of it is the API
// server's own code.
type schema struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator // nil where the schema has none
}

// schemaOf is that of a version; nil where the definition does not have the version, or no
// schema for it.
func schemaOf(crd *apiextensionsv1.CustomResourceDefinition, version string) (*schema, error) {
	i := slices.IndexFunc(crd.Spec.Versions, named(version))
	if i < 0 || crd.Spec.Versions[i].Schema == nil {
		return nil, nil
	}
	var internal apiextensions.CustomResourceValidation
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[i].Schema, &internal, nil)
	s := &schema{}
	if err == nil {
		s.structural, err = structuralschema.NewStructural(internal.OpenAPIV3Schema)
	}
	if err == nil {
		s.validator, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema)
	}
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s, version %s: %w", crd.Name, version, err)
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s, nil
}

// refuse says what an API server would answer to whoever wrote an object as it is stored:
// unknown fields and nulls are dropped first, and defaults filled in. Rules in CEL are asked
// only about what fits the rest.
func (s *schema) refuse(ctx context.Context, stored map[string]any) field.ErrorList {
	pruning.Prune(stored, s.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(stored, s.structural)
	defaulting.Default(stored, s.structural)
	found := validation.ValidateCustomResource(nil, stored, s.validator)
	found = append(found, objectmeta.Validate(nil, stored, s.structural, false)...)
	found = append(found, listtype.ValidateListSetsAndMaps(nil, s.structural, stored)...)
	if s.rules != nil && len(found) == 0 {
		found, _ = s.rules.Validate(ctx, nil, s.structural, stored, nil, celconfig.RuntimeCELCostBudget)
	}
	return found
}
