package validation

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

// Validator validates stored objects by the schemas of the next CustomResourceDefinition.
type Validator struct {
	schemas  map[string]*schema
	versions []string
}

// NewValidator returns a Validator for the objects of a reading.
func NewValidator(next *apiextensionsv1.CustomResourceDefinition, r deploy.Reading) (*Validator, error) {
	v := &Validator{schemas: map[string]*schema{}}
	for _, version := range r.Fits {
		s, err := schemaOf(next, version)
		if err != nil {
			return nil, err
		}
		if s != nil {
			v.schemas[version], v.versions = s, append(v.versions, version)
		}
	}
	return v, nil
}

// Validate returns a message for each object and version that the next schema refuses.
func (v *Validator) Validate(ctx context.Context, objects []unstructured.Unstructured) []string {
	var refusals []string
	for _, o := range objects {
		for _, version := range v.versions {
			converted := o.DeepCopy()
			converted.SetAPIVersion(o.GroupVersionKind().Group + "/" + version)
			if errs := v.schemas[version].validate(ctx, converted.Object); len(errs) > 0 {
				refusals = append(refusals, fmt.Sprintf("%s: the next schema of version %s refuses it: %v: change the object first", deploy.Title(&o), version, errs.ToAggregate()))
			}
		}
	}
	return refusals
}
