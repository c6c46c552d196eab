package lint

import (
	"fmt"
	"strings"

	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"github.com/operator-framework/api/pkg/validation/errors"
	validator "github.com/operator-framework/api/pkg/validation/interfaces"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

// libraryChecks are the validators of operator-framework/api, which operator-sdk bundle
// validate runs. Three are left out: the one for CRDs, of which crd-invalid is the whole; the
// deprecated one for community operators; and the one for architectures, which pulls images.
var libraryChecks = []Check{
	library("olm-csv", Error, validation.ClusterServiceVersionValidator, `OLM's validator for ClusterServiceVersions: mandatory fields, names, install modes, alm-examples that match
the APIs, minKubeVersion. What the validator itself calls a warning is one here.`),
	library("olm-bundle", Error, validation.BundleValidator, `OLM's validator for bundles: definitions that the ClusterServiceVersion owns and the bundle lacks, or the other way
round; ServiceAccounts defined twice; images that are no names of images; a size that OLM cannot store. What the validator itself calls a warning is one here.`),
	library("olm-object", Error, validation.ObjectValidator, `OLM's validator for the other objects of a bundle: a PodDisruptionBudget that allows no disruption, a PriorityClass that is
the default of the cluster, permissions to change the default SecurityContextConstraints. What the validator itself calls a warning is one here.`),
	library("olm-removed-apis", Warning, validation.AlphaDeprecatedAPIsValidator, `The bundle has objects of APIs, or asks permissions for APIs, that are removed from newer versions of Kubernetes:
there, the object is refused, and the permission is for nothing.`),
	library("olm-good-practices", Warning, validation.GoodPracticesValidator, `What the operator framework recommends: resource requests for each container, descriptions of APIs, the naming of
channels and versions, no permission to create CustomResourceDefinitions.`),
	library("olm-operatorhub", Warning, validation.OperatorHubV2Validator, `What OperatorHub.io demands of the bundles that are published there: an icon, maintainers, links. Nothing of it matters to a
cluster: waive it for a bundle that is not published there.`),
	library("olm-categories", Warning, validation.StandardCategoriesValidator, `OperatorHub.io sorts operators by a fixed list of categories, and this one is not in it. Nothing of it matters to a cluster.`),
	library("olm-capabilities", Warning, validation.StandardCapabilitiesValidator, `OperatorHub.io has a fixed list of capability levels, and this one is not in it. Nothing of it matters to a cluster.`),
}

// library is a check that reports what a validator says. With the level Warning, all of it
// is: those validators are not about whether a bundle works.
func library(code string, level Level, v validator.Validator, explain string) Check {
	return Check{Code: code, Level: level, Basis: Library, Explain: explain, find: func(s *subject) []mistake {
		var all []mistake
		for _, result := range v.Validate(s.library.ObjectsToValidate()...) {
			for _, e := range result.Errors {
				all = append(all, s.libraryMistake(e))
			}
			for _, e := range result.Warnings {
				m := s.libraryMistake(e)
				m.level = Warning
				all = append(all, m)
			}
		}
		return all
	}}
}

func (s *subject) libraryMistake(e errors.Error) mistake {
	what := e.Detail
	if value, ok := e.BadValue.(fmt.Stringer); ok {
		what += ": " + value.String()
	}
	return s.inCSV(e.Field, strings.TrimPrefix(what, "("+s.CSV.Name+") "), "")
}

// inLibrarysTypes is the bundle as the library has it.
func inLibrarysTypes(b *bundle.Bundle) *manifests.Bundle {
	result := &manifests.Bundle{
		Name: b.CSV.Name, Package: b.Package(), Channels: b.Channels(), DefaultChannel: b.DefaultChannel(),
		CSV: b.CSV, V1CRDs: b.CRDs(), V1beta1CRDs: bundle.OfType[*apiextensionsv1beta1.CustomResourceDefinition](b),
		Size: b.Size,
	}
	if size, err := b.CompressedSize(); err == nil {
		result.CompressedSize = size
	}
	for _, o := range b.Objects {
		result.Objects = append(result.Objects, &unstructured.Unstructured{Object: o.Object})
	}
	return result
}
