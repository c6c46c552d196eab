package lint

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// packageChecks are about the name of the package, after which objects are named.
var packageChecks = []Check{{
	Code: "package-name", Level: Error, Basis: Rejected,
	Explain: `An OperatorGroup and a Subscription get the name of the package, and so does the namespace, unless the ClusterServiceVersion suggests one
(operatorframework.io/suggested-namespace) or somebody names another. The API server takes no object of a name with capital letters, blanks or underscores, and no namespace whose name has a dot or more
than 63 characters: nothing that comes after it is created. Packages are known by their names in catalogs and Subscriptions, so choose well before the first release.`,
	find: packageMistakes,
}}

func packageMistakes(s *subject) []mistake {
	name := s.Package()
	if name == "" {
		return nil // another finding says so
	}
	refused := func(what string, reasons []string, wayOut string) []mistake {
		return []mistake{{
			object: s.AnnotationsObject, path: "annotations[operators.operatorframework.io.bundle.package.v1]",
			what: fmt.Sprintf("the API server refuses the %s %q, named after the package: %s", what, name, strings.Join(reasons, "; ")), wayOut: wayOut,
		}}
	}
	if reasons := validation.NameIsDNSSubdomain(name, false); len(reasons) > 0 {
		return refused("OperatorGroup and the Subscription", reasons, "name the package in lower case letters, digits and '-'")
	}
	if reasons := validation.ValidateNamespaceName(name, false); len(reasons) > 0 && !suggestsNamespace(s) {
		return refused("namespace", reasons, "name the package in lower case letters, digits and '-', or suggest a namespace by the annotation "+bundle.NamespaceAnnotation)
	}
	return nil
}

// suggestsNamespace tells whether the namespace is not named after the package.
func suggestsNamespace(s *subject) bool {
	template, _, err := s.NamespaceTemplate()
	return s.CSV.Annotations[bundle.NamespaceAnnotation] != "" || err == nil && template != nil
}
