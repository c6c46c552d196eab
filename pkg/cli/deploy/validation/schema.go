// Package validation validates objects as the API server does. The pure package deploy must not have a context.
package validation

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/celbudget"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

type schema struct {
	version    string
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator // nil if the schema has none
}

func schemaOf(crd *apiextensionsv1.CustomResourceDefinition, version string) (*schema, error) {
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	if i < 0 || crd.Spec.Versions[i].Schema == nil {
		return nil, nil
	}
	if budget := (&celbudget.Budget{}); !budget.SpendSchema(crd.Spec.Versions[i].Schema.OpenAPIV3Schema) {
		return nil, fmt.Errorf("%s; write fewer or shorter rules", budget.Exceeded(fmt.Sprintf("the rules of CustomResourceDefinition %s, version %s,", crd.Name, version)))
	}
	var internal apiextensions.CustomResourceValidation
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[i].Schema, &internal, nil)
	s := &schema{version: version}
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

// validate drops unknown fields and nulls and sets defaults. Only objects that the schema accepts have CEL evaluated.
func (s *schema) validate(ctx context.Context, stored map[string]any) field.ErrorList {
	pruning.Prune(stored, s.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(stored, s.structural)
	defaulting.Default(stored, s.structural)
	errs := validation.ValidateCustomResource(nil, stored, s.validator)
	errs = append(errs, objectmeta.Validate(nil, stored, s.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, stored)...)
	if s.rules != nil && len(errs) == 0 {
		errs, _ = s.rules.Validate(ctx, nil, s.structural, stored, nil, celconfig.RuntimeCELCostBudget)
	}
	return errs
}

// Validator validates stored objects by the schemas of the next CustomResourceDefinition.
type Validator []*schema

// NewValidator returns a Validator for the objects of a reading.
func NewValidator(next *apiextensionsv1.CustomResourceDefinition, r deploy.Reading) (v Validator, err error) {
	for _, version := range r.Fits {
		s, err := schemaOf(next, version)
		if err != nil {
			return nil, err
		}
		if s != nil {
			v = append(v, s)
		}
	}
	return v, nil
}

// Validate returns a message for each object and version that the next schema refuses.
func (v Validator) Validate(ctx context.Context, objects []unstructured.Unstructured) []string {
	var refusals []string
	for _, o := range objects {
		for _, s := range v {
			converted := o.DeepCopy()
			converted.SetAPIVersion(o.GroupVersionKind().Group + "/" + s.version)
			if errs := s.validate(ctx, converted.Object); len(errs) > 0 {
				refusals = append(refusals, fmt.Sprintf("%s: the next schema of version %s refuses it: %v: change the object first", deploy.Title(&o), s.version, errs.ToAggregate()))
			}
		}
	}
	return refusals
}
