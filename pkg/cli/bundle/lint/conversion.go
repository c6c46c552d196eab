package lint

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// conversionChecks are about conversion webhooks and what they convert.
var conversionChecks = []Check{
	{
		Code: "conversion-refused", Level: Error, Basis: Refused,
		Explain: `A conversion webhook converts all objects of its definitions, wherever they are: the manager, like OLM v0, installs one only for an operator of all namespaces,
that owns the definitions, and that names each once. Definitions of OLM's own groups must not be converted. Otherwise the ClusterServiceVersion is
Failed/InvalidWebhookDescription.`,
		find: violationsOf(requirements.WrongConversion, "conversionCRDs"),
	},
	{
		Code: "conversion-crd", Level: Error, Basis: Refused,
		Explain: `What a conversion webhook converts has to be there, with spec.preserveUnknownFields false: the API server calls no webhook for a definition without a structural
schema. The ClusterServiceVersion stays Pending/RequirementsNotMet until it is.`,
		find: func(s *subject) []mistake {
			definitions := definitionsOf(s.Bundle)
			return unmet(s, "CustomResourceDefinition", func(name string) (path, remedy string) {
				remedy = "add the definition to the bundle"
				if crd := definitions[name]; crd != nil {
					remedy = "set its spec.preserveUnknownFields to false"
					if !crd.Spec.PreserveUnknownFields {
						return "", "" // it does not serve a version: see owned-version
					}
				}
				for _, w := range s.webhooks() {
					if i := slices.Index(w.ConversionCRDs, name); i >= 0 {
						return fmt.Sprintf("%s.conversionCRDs[%d]", w.path, i), remedy
					}
				}
				return "", ""
			})
		},
	},
	{
		Code: "conversion-of-one-version", Level: Warning, Basis: Broken,
		Explain: `A definition with one version has nothing to convert: its webhook is never called. If the other version was forgotten, objects of it are pruned or refused; if there is
none yet, the webhook is one more thing that can fail.`,
		find: func(s *subject) []mistake {
			return convertedDefinitions(s, func(crd *apiextensionsv1.CustomResourceDefinition) (string, string) {
				if len(crd.Spec.Versions) > 1 {
					return "", ""
				}
				return fmt.Sprintf("the webhook is never called for %s: it has one version", crd.Name), "add the other version to the definition, or remove the webhook"
			})
		},
	},
	{
		Code: "conversion-undeclared", Level: Warning, Basis: Broken,
		Explain: `The definition of the bundle says that its objects are converted by a webhook, and no description of the ClusterServiceVersion does. The manager, like OLM v0, makes a
Service and a certificate, and writes a caBundle, for described conversions alone: this one is written as the definition has it. Every read of an object in another version than the stored
one fails until what the bundle's definition names serves, and its caBundle is right.`,
		find: undeclaredConversions,
	},
}

// convertedDefinitions looks at the definitions of the bundle that a webhook converts.
func convertedDefinitions(s *subject, check func(*apiextensionsv1.CustomResourceDefinition) (what, remedy string)) []mistake {
	definitions := definitionsOf(s.Bundle)
	var all []mistake
	for _, w := range s.webhooks() {
		for i, name := range w.ConversionCRDs {
			if crd := definitions[name]; crd != nil {
				if what, remedy := check(crd); what != "" {
					all = append(all, s.inCSV(fmt.Sprintf("%s.conversionCRDs[%d]", w.path, i), what, remedy))
				}
			}
		}
	}
	return all
}

func undeclaredConversions(s *subject) []mistake {
	var declared []string
	for _, w := range s.webhooks() {
		if w.Type == operatorsv1alpha1.ConversionWebhook {
			declared = append(declared, w.ConversionCRDs...)
		}
	}
	var all []mistake
	for _, crd := range s.CRDs() {
		if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter && !slices.Contains(declared, crd.Name) {
			all = append(all, mistake{
				object: s.Find(groupkind.CustomResourceDefinition, crd.Name), path: "spec.conversion",
				what:   "the manager sets up no Service and no certificate for this conversion: no conversion webhook of the ClusterServiceVersion names " + crd.Name,
				remedy: "add a description of type ConversionWebhook, or take strategy None",
			})
		}
	}
	return all
}
