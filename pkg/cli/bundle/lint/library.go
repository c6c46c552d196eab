package lint

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-framework/api/pkg/manifests"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// libraryChecks are the validators of operator-sdk bundle validate, except four: for CRDs (crd-invalid checks more), for
// community operators (deprecated), for architectures (it pulls images), and for package manifests.
var libraryChecks = []Check{
	library("olm-csv", Library, Error, validation.ClusterServiceVersionValidator, wholeBundle,
		`OLM's validator for ClusterServiceVersions: required fields, names, install modes,
alm-examples that match the APIs, minKubeVersion. Its warnings are warnings here.`),
	library("olm-bundle", Library, Error, validation.BundleValidator, wholeBundle,
		`OLM's validator for bundles: owned definitions that the bundle lacks, or the reverse;
ServiceAccounts that are defined twice; invalid names of images; a name that does not match
spec.release; a size that OLM cannot store. Without an owned definition, the ClusterServiceVersion
stays Pending. A cluster accepts the others, unless another finding reports them. They are errors
because pipelines and catalogs that run OLM's validators refuse the bundle. Waive them for a bundle
that only these commands install. Warnings of the validator are warnings here.`),
	library("olm-object", Library, Error, objects, eachObject,
		`OLM's validators for the other objects of a bundle: a PodDisruptionBudget that allows no
disruption, a PriorityClass that is the default of the cluster, permissions to change the default
SecurityContextConstraints, an OperatorGroup with an annotation of OLM in the wrong case. Warnings
of the validators are warnings here.`),
	library("olm-removed-apis", Library, Error, removedAPIs, eachObjectAsBundle,
		`The bundle uses APIs that were removed in Kubernetes 1.22, 1.25 or 1.26, in its objects or
permissions. This manager requires Kubernetes 1.28, which does not serve them. An object of such an
API is an error, independent of spec.minKubeVersion: the API server refuses it. A permission for a
removed API has no effect, and is a warning. A resource in spec.customresourcedefinitions is only
displayed, and is a warning as well. It is an error if spec.minKubeVersion is a version without the
API: pipelines that run OLM's validators refuse the bundle.`),
	library("olm-good-practices", Policy, Warning, validation.GoodPracticesValidator, wholeBundle,
		`Recommendations of the operator framework: resource requests for each container,
descriptions of APIs, the names of channels and versions, no permission to create
CustomResourceDefinitions.`),
	library("olm-operatorhub", Policy, Warning, operatorHub, wholeBundle,
		`Requirements of OperatorHub.io for published bundles: an icon, maintainers, links. They
have no effect in a cluster. Waive the finding for a bundle that is not published there.`),
	library("olm-categories", Policy, Warning, validation.StandardCategoriesValidator, wholeBundle,
		`OperatorHub.io has a fixed list of categories, and this one is not in it. It has no effect
in a cluster.`),
	library("olm-capabilities", Policy, Warning, validation.StandardCapabilitiesValidator, wholeBundle,
		`OperatorHub.io has a fixed list of capability levels, and this one is not in it. It has no
effect in a cluster.`),
}

// objects asks the validator for OperatorGroups, too, which expects them in their own type.
var objects validator.Validator = validator.ValidatorFunc(func(values ...any) []errors.ManifestResult {
	results := validation.ObjectValidator.Validate(values...)
	for _, value := range values {
		if object, ok := value.(*unstructured.Unstructured); ok && groupkind.Is(object, groupkind.OperatorGroup) {
			group := &operatorsv1.OperatorGroup{}
			group.SetAnnotations(object.GetAnnotations()) // all that it checks
			results = append(results, validation.OperatorGroupValidator.Validate(group)...)
		}
	}
	return results
})

// removedAPIs calls an object of an API that no longer exists an error: the library, which depends on
// spec.minKubeVersion, has older clusters in mind than this manager. It leaves out what olm-csv reports.
var removedAPIs validator.Validator = validator.ValidatorFunc(func(values ...any) []errors.ManifestResult {
	results := validation.AlphaDeprecatedAPIsValidator.Validate(values...)
	for i := range results {
		r := &results[i]
		r.Errors = slices.DeleteFunc(r.Errors, func(e errors.Error) bool { return strings.Contains(e.Detail, "inKubeVersion") })
		r.Warnings = slices.DeleteFunc(r.Warnings, func(e errors.Error) bool {
			refused := !goFieldPath.MatchString(e.Detail) // else it is about a field
			if refused {
				r.Errors = append(r.Errors, e)
			}
			return refused
		})
	}
	return results
})

// operatorHub leaves out what olm-removed-apis and olm-csv report, in the same words.
var operatorHub validator.Validator = validator.ValidatorFunc(func(values ...any) []errors.ManifestResult {
	results := validation.OperatorHubV2Validator.Validate(values...)
	said := func(e errors.Error) bool {
		return e.Type == errors.ErrorFailedValidation || strings.Contains(e.Detail, "inKubeVersion")
	}
	for i := range results {
		results[i].Errors = slices.DeleteFunc(results[i].Errors, said)
		results[i].Warnings = slices.DeleteFunc(results[i].Warnings, said)
	}
	return results
})

// library is a check that returns the errors of a validator. Its errors have the given level.
func library(code string, basis Basis, level Level, v validator.Validator, parts func(*subject) []part, explain string) Check {
	return Check{Code: code, Level: level, Basis: basis, Explain: explain, find: func(s *subject) {
		for _, p := range parts(s) {
			for _, result := range v.Validate(p.values...) {
				s.allFromLibrary(p.object, result.Errors, level)
				s.allFromLibrary(p.object, result.Warnings, Warning)
			}
		}
	}}
}

// maxTranslated is how many errors of one validator are reported, and how many fields for each.
const maxTranslated = 100

func (s *subject) allFromLibrary(o *bundle.Object, found []errors.Error, level Level) {
	for _, e := range found[:min(len(found), maxTranslated)] {
		s.fromLibrary(o, e, level)
	}
	if n := len(found); n > maxTranslated {
		s.reportAt(level, o, "", fmt.Sprintf("the validator has %d more findings like these", n-maxTranslated), "correct the listed ones, and validate the bundle again")
	}
}

// part is what a validator checks, and the object of its errors: the validator does not name it.
type part struct {
	values []any
	object *bundle.Object
}

func wholeBundle(s *subject) []part { return []part{{s.library.ObjectsToValidate(), s.CSVObject}} }

func eachObject(s *subject) []part {
	return lists.Map(s.Objects, func(o *bundle.Object) part { return part{[]any{o.Unstructured}, o} })
}

func eachObjectAsBundle(s *subject) []part {
	return lists.Map(s.Objects, func(o *bundle.Object) part {
		alone := &manifests.Bundle{Name: s.library.Name, CSV: s.CSV, Objects: []*unstructured.Unstructured{o.Unstructured}}
		if crd, ok := o.Typed.(*apiextensionsv1beta1.CustomResourceDefinition); ok {
			alone.V1beta1CRDs = append(alone.V1beta1CRDs, crd)
		}
		return part{[]any{alone}, o}
	})
}

// libraryBundle sets missing requests to the limits, as an API server does.
func libraryBundle(b *bundle.Bundle) *manifests.Bundle {
	csv := b.CSV.DeepCopy()
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		for i := range d.Spec.Template.Spec.Containers {
			if r := &d.Spec.Template.Spec.Containers[i].Resources; r.Requests == nil {
				r.Requests = r.Limits
			}
		}
	}
	result := &manifests.Bundle{
		Name: b.CSV.Name, Package: b.Package(), Channels: b.Channels(), DefaultChannel: b.DefaultChannel(),
		CSV: csv, V1CRDs: b.CRDs(), Size: b.Size, CompressedSize: b.CompressedSize(),
		Objects: lists.Map(b.Objects, func(o *bundle.Object) *unstructured.Unstructured { return o.Unstructured }),
	}
	for _, crd := range bundle.Each[*apiextensionsv1beta1.CustomResourceDefinition](b) {
		result.V1beta1CRDs = append(result.V1beta1CRDs, crd)
	}
	return result
}
