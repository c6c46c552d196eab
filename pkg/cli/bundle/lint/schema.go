package lint

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	structuraldefaulting "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
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
func rejectedCSV(s *subject) []mistake {
	schema, object := csvSchema(), s.CSVObject.DeepCopy().Object
	structuraldefaulting.PruneNonNullableNullsWithoutDefaults(object, schema.structural)
	structuraldefaulting.Default(object, schema.structural)
	var all []mistake
	var r rejections
	r.check(object, schema.properties, nil)
	for _, err := range r.all {
		all = append(all, rejected(s.CSVObject, err))
	}
	return all
}

func rejected(o *bundle.Object, err *field.Error) mistake {
	return mistake{object: o, path: err.Field, what: "the API server refuses the object: " + err.Error(), remedy: "correct the field"}
}

func invalidDefinitions(s *subject) []mistake {
	var all []mistake
	var budget celbudget.Budget
	for _, o := range s.Objects {
		crd, ok := o.Typed.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			continue
		}
		if !budget.Affordable(crd) {
			all = append(all, mistake{object: o, level: Warning, what: budget.Exceeded("the definitions of the bundle"), remedy: "write fewer or shorter rules"})
			continue
		}
		crd = crd.DeepCopy()
		apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
		var internal apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, &internal, nil); err != nil {
			all = append(all, mistake{object: o, what: "the API server cannot read the definition: " + err.Error(), remedy: "correct it"})
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
				all = append(all, rejected(o, err))
			}
		}
	}
	return all
}

func removedDefinitions(s *subject) []mistake {
	var all []mistake
	for _, o := range s.Objects {
		if groupkind.Is(o, groupkind.CustomResourceDefinition) && o.GetAPIVersion() == "apiextensions.k8s.io/v1beta1" {
			all = append(all, mistake{object: o, path: "apiVersion", what: "no API server since Kubernetes 1.22 knows " + o.GetAPIVersion(), remedy: "write the definition as apiextensions.k8s.io/v1"})
		}
	}
	return all
}

func tooBigToStore(s *subject) []mistake {
	var all []mistake
	for _, o := range s.Objects {
		if size := storedSize(o); size > maxStored {
			all = append(all, mistake{
				object: o, what: fmt.Sprintf("no API server can store the object: it takes %.1f MiB, and etcd takes 1.5 MiB", float64(size)/(1<<20)),
				remedy: "shorten it: the descriptions of fields, or the examples",
			})
		}
	}
	return all
}

// storedSize ignores Kubernetes' own kinds: API servers do not store them as JSON.
func storedSize(o *bundle.Object) int {
	const shorter = 4 // YAML is hardly shorter than JSON, and never by so much
	group := o.GroupVersionKind().Group
	if o.Size() < maxStored/shorter || scheme.Scheme.IsGroupRegistered(group) {
		return 0
	}
	text, err := o.MarshalJSON()
	if err != nil {
		return 0
	}
	return len(text)
}
