package lint

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/operator-framework/api/crds"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/celbudget"
)

// schemaChecks use the API server's own code.
var schemaChecks = []Check{
	{
		Code: "csv-schema", Level: Error, Basis: Rejected,
		Explain: `The definition of ClusterServiceVersions has a schema. The API server
refuses an object that does not match it: a required field is missing, or a value is out of range.
The message is the API server's.`,
		find: rejectedCSV,
	},
	{
		Code: "crd-invalid", Level: Error, Basis: Rejected,
		Explain: `The API server refuses the CustomResourceDefinition. The message is from
its own validation. Typical causes: the schema is not structural, a default does not match it, or a
CEL rule does not compile or costs too much. The validators of operator-framework/api do not check
schemas.`,
		find: invalidDefinitions,
	},
	{
		Code: "crd-v1beta1", Level: Error, Basis: Rejected,
		Explain: `apiextensions.k8s.io/v1beta1 was removed in Kubernetes 1.22: no supported
cluster accepts the definition. Write it as v1: each version has its own schema, and
preserveUnknownFields is false.`,
		find: removedDefinitions,
	},
	{
		Code: "too-big-to-store", Level: Error, Basis: Rejected,
		Explain: `An API server stores a definition, a ClusterServiceVersion and any other
custom resource as JSON. etcd accepts 1.5 MiB in one request (--max-request-bytes). A larger object
is refused with "request is too large" when it is created, but not in a dry run. Most of a large
definition is descriptions of fields: controller-gen crd:maxDescLen=0 removes them.`,
		find: tooBigToStore,
	},
}

// maxStored is what etcd takes in one request.
const maxStored = 3 << 19

var csvSchema = sync.OnceValue(func() (s struct {
	structural *structuralschema.Structural
	properties *apiextensions.JSONSchemaProps
}) {
	versions := crds.ClusterServiceVersion().Spec.Versions
	i := slices.IndexFunc(versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == operatorsv1alpha1.GroupVersion
	})
	var internal apiextensions.CustomResourceValidation
	err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(versions[i].Schema, &internal, nil)
	if err == nil {
		s.structural, err = structuralschema.NewStructural(internal.OpenAPIV3Schema)
	}
	s.properties = internal.OpenAPIV3Schema
	if err != nil {
		panic(err) // the definition is compiled in
	}
	return s
})

// rejectedCSV drops nulls and sets defaults first, as the API server does.
func rejectedCSV(s *subject) {
	schema, object := csvSchema(), s.CSVObject.DeepCopy().Object
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(object, schema.structural)
	structuraldefaulting.Default(object, schema.structural)
	s.checkSchema(object, schema.properties, nil)
}

func (s *subject) reportRejected(o *bundle.Object, err *field.Error) {
	s.report(o, err.Field, "the API server refuses the object: "+err.Error(), "correct the field")
}

const maxRejected = 200

// validators are created once for each schema of a list: by *apiextensions.JSONSchemaProps.
var validators sync.Map

func validatorOf(s *apiextensions.JSONSchemaProps) schemavalidation.SchemaValidator {
	if known, ok := validators.Load(s); ok {
		return known.(schemavalidation.SchemaValidator)
	}
	made, _, err := schemavalidation.NewSchemaValidator(s)
	if err != nil {
		panic(err) // the definition is compiled in
	}
	validators.Store(s, made)
	return made
}

// checkSchema validates a value of the ClusterServiceVersion as the API server does: without the lists inside it, and then
// each item of these. The library compares each error of a list with each other, which takes minutes for a list of 10,000.
func (s *subject) checkSchema(value any, schema *apiextensions.JSONSchemaProps, at *field.Path) {
	if len(s.found) >= maxRejected {
		return
	}
	for _, err := range schemavalidation.ValidateCustomResource(at, withFirstItems(value), validatorOf(schema)) {
		s.reportRejected(s.CSVObject, err)
	}
	s.checkItems(value, schema, at, 1)
}

// checkItems validates the items of the lists inside a value, from the given one on.
func (s *subject) checkItems(value any, schema *apiextensions.JSONSchemaProps, at *field.Path, from int) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if property, known := schema.Properties[key]; known {
				s.checkItems(value[key], &property, at.Child(key), from)
			}
		}
	case []any:
		if schema.Items == nil || schema.Items.Schema == nil {
			return
		}
		for i, item := range value {
			if i < from {
				s.checkItems(item, schema.Items.Schema, at.Index(i), from)
			} else {
				s.checkSchema(item, schema.Items.Schema, at.Index(i))
			}
		}
	}
}

func withFirstItems(value any) any {
	switch value := value.(type) {
	case map[string]any:
		cut := make(map[string]any, len(value))
		for key, item := range value {
			cut[key] = withFirstItems(item)
		}
		return cut
	case []any:
		cut := []any{}
		for _, item := range value[:min(len(value), 1)] {
			cut = append(cut, withFirstItems(item))
		}
		return cut
	default:
		return value
	}
}

func invalidDefinitions(s *subject) {
	var budget celbudget.Budget
	for o, crd := range bundle.Each[*apiextensionsv1.CustomResourceDefinition](s.Bundle) {
		if !budget.Affordable(crd) {
			s.reportAt(Warning, o, "", budget.Exceeded("the definitions of the bundle"), "write fewer or shorter rules")
			continue
		}
		crd = crd.DeepCopy()
		apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
		var internal apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, &internal, nil); err != nil {
			s.report(o, "", "the API server cannot read the definition: "+err.Error(), "correct it")
			continue
		}
		internal.Status = apiextensions.CustomResourceDefinitionStatus{}
		for _, v := range internal.Spec.Versions {
			if v.Storage {
				internal.Status.StoredVersions = []string{v.Name}
			}
		}
		for _, err := range validation.ValidateCustomResourceDefinition(context.Background(), &internal) {
			if !strings.HasPrefix(err.Field, "status.") {
				s.reportRejected(o, err)
			}
		}
	}
}

func removedDefinitions(s *subject) {
	for _, o := range s.Objects {
		if groupkind.Is(o, groupkind.CustomResourceDefinition) && o.GetAPIVersion() == "apiextensions.k8s.io/v1beta1" {
			s.report(o, "apiVersion", "no API server since Kubernetes 1.22 knows "+o.GetAPIVersion(), "write the definition as apiextensions.k8s.io/v1")
		}
	}
}

// tooBigToStore ignores Kubernetes' own kinds: API servers do not store them as JSON.
func tooBigToStore(s *subject) {
	const shorter = 4 // YAML is hardly shorter than JSON, and never by so much
	for _, o := range s.Objects {
		if o.Size() < maxStored/shorter || scheme.Scheme.IsGroupRegistered(o.GroupVersionKind().Group) {
			continue
		}
		if text, err := o.MarshalJSON(); err == nil && len(text) > maxStored {
			s.report(o, "",
				fmt.Sprintf("no API server can store the object: it takes %.1f MiB, and etcd takes 1.5 MiB", float64(len(text))/(1<<20)),
				"shorten it: the descriptions of fields, or the examples")
		}
	}
}
