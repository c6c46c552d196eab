package lint

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	schemavalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const maxRejected = 200

// rejections validates an object as the API server does, item by item of each list: the library compares
// each error of a list with each other, which takes minutes for a list of 10,000.
type rejections struct{ all field.ErrorList }

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

// check validates a value without the lists inside it, and then each item of these.
func (r *rejections) check(value any, s *apiextensions.JSONSchemaProps, at *field.Path) {
	if s == nil || len(r.all) >= maxRejected {
		return
	}
	r.all = append(r.all, schemavalidation.ValidateCustomResource(at, withFirstItems(value), validatorOf(s))...)
	r.checkItems(value, s, at, 1)
}

// checkItems validates the items of the lists inside a value, from the given one on.
func (r *rejections) checkItems(value any, s *apiextensions.JSONSchemaProps, at *field.Path, from int) {
	if s == nil {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			r.checkItems(value[key], propertyOf(s, key), child(at, key), from)
		}
	case []any:
		if s.Items == nil || s.Items.Schema == nil {
			return
		}
		for i, item := range value {
			if i < from {
				r.checkItems(item, s.Items.Schema, at.Index(i), from)
				continue
			}
			r.check(item, s.Items.Schema, at.Index(i))
		}
	}
}

func child(at *field.Path, key string) *field.Path {
	if at == nil {
		return field.NewPath(key)
	}
	return at.Child(key)
}

func propertyOf(s *apiextensions.JSONSchemaProps, key string) *apiextensions.JSONSchemaProps {
	if property, known := s.Properties[key]; known {
		return &property
	}
	return nil
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
