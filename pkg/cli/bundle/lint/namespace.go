package lint

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// namespaceChecks are about the namespace that the author suggests.
var namespaceChecks = []Check{{
	Code: "suggested-namespace", Level: Error, Basis: Broken,
	Explain: `The annotation operatorframework.io/suggested-namespace-template is a Namespace in JSON, operatorframework.io/suggested-namespace the name of one; where both are, the
template counts. Installers make that namespace, unless somebody names another. A template that cannot be read is passed over without a word: the namespace is made without the labels
and annotations that the operator needs, such as the level of pod security, and has another name. One that is no valid Namespace the API server refuses, and nothing that comes into it is created.`,
	find: suggestionMistakes,
}}

func suggestionMistakes(s *subject) []mistake {
	template, unknown, err := s.NamespaceTemplate()
	inTemplate, name := annotation(bundle.NamespaceTemplateAnnotation), s.SuggestedNamespace()
	if err != nil {
		return []mistake{s.inCSV(inTemplate, fmt.Sprintf("%v: the namespace is made without the labels and annotations that it asks for, under the name %s", err, name),
			"write one object: a Namespace with apiVersion, kind and metadata")}
	}
	var all []mistake
	suggestion := metav1.ObjectMeta{Name: s.CSV.Annotations[bundle.NamespaceAnnotation]}
	at := annotation(bundle.NamespaceAnnotation)
	if template != nil {
		for _, path := range unknown {
			all = append(all, s.inCSV(inTemplate, fmt.Sprintf("%s is no field of a Namespace, and is left out", path), "correct or remove it"))
		}
		if template.Name == "" {
			all = append(all, s.inCSV(inTemplate, fmt.Sprintf("it has no metadata.name: the namespace is %s, or what another installer takes", name), "write the name"))
		}
		suggestion, at = template.ObjectMeta, inTemplate
		suggestion.Name = name
	}
	if suggestion.Name == "" {
		return all
	}
	for _, e := range validation.ValidateObjectMeta(&suggestion, false, validation.ValidateNamespaceName, field.NewPath("metadata")) {
		all = append(all, s.inCSV(at, fmt.Sprintf("the API server refuses the namespace %q: %v", suggestion.Name, e), "correct the field"))
	}
	return all
}
