package lint

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

var conversionChecks = []Check{
	{
		Code: "conversion-refused", Level: Error, Basis: Refused,
		Explain: `A conversion webhook converts all objects of its definitions in all
namespaces. Therefore this manager and OLM v0 require an operator that supports AllNamespaces, owns
the definitions, and names each once. Definitions in OLM's own groups must not be converted.
Otherwise the ClusterServiceVersion is Failed/InvalidWebhookDescription.`,
		find: violationsOf(requirements.WrongConversion, "spec.webhookdefinitions[%d].conversionCRDs"),
	},
	{
		Code: "conversion-crd", Level: Error, Basis: Refused,
		Explain: `A definition that a conversion webhook converts has to exist, with
spec.preserveUnknownFields false: the API server calls no webhook for a definition without a
structural schema. Until then, the ClusterServiceVersion stays Pending/RequirementsNotMet.`,
		find: func(s *subject) {
			unmet(s, "CustomResourceDefinition", func(name string) (path, remedy string) {
				remedy = "add the definition to the bundle"
				if crd := s.definitions[name]; crd != nil {
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
		Explain: `A definition with one version needs no conversion, so its webhook is never
called. If the definition lacks a version, objects of that version are pruned or refused. If there
is no other version yet, remove the webhook.`,
		find: func(s *subject) {
			for _, w := range s.webhooks() {
				for i, name := range w.ConversionCRDs {
					if crd := s.definitions[name]; crd != nil && len(crd.Spec.Versions) <= 1 {
						s.reportCSV(fmt.Sprintf("%s.conversionCRDs[%d]", w.path, i), fmt.Sprintf("the webhook is never called for %s: it has one version", name), "add the other version to the definition, or remove the webhook")
					}
				}
			}
		},
	},
	{
		Code: "conversion-undeclared", Level: Warning, Basis: Broken,
		Explain: `The definition in the bundle has a conversion webhook, and the
ClusterServiceVersion does not declare it. This manager and OLM v0 create a Service, a certificate
and a caBundle only for declared conversions. This conversion is applied unchanged. Reads of objects
in other versions than the stored one fail until its server runs and its caBundle is correct.`,
		find: eachConversion(func(s *subject, o *bundle.Object, crd *apiextensionsv1.CustomResourceDefinition, declared *webhook) {
			if declared == nil {
				s.report(o, "spec.conversion",
					"the manager sets up no Service and no certificate for this conversion: no conversion webhook of the ClusterServiceVersion names "+crd.Name,
					"add a description of type ConversionWebhook, or take strategy None")
			}
		}),
	},
	{
		Code: "conversion-differs", Level: Warning, Basis: Policy,
		Explain: `The definition in the bundle has a conversion webhook, and the
ClusterServiceVersion declares another one for it. The difference is a URL, a caBundle or another
path. The name and the namespace of a Service may differ: they are known only where the operator is
installed. This manager registers the declared webhook. bundle install and bundle render do not use
the one of the definition. A client that applies the file itself registers it until the manager
replaces it.`,
		find: eachConversion(func(s *subject, o *bundle.Object, crd *apiextensionsv1.CustomResourceDefinition, declared *webhook) {
			if declared == nil || crd.Spec.Conversion.Webhook == nil || crd.Spec.Conversion.Webhook.ClientConfig == nil {
				return
			}
			if field, what := difference(crd.Spec.Conversion.Webhook.ClientConfig, declared); what != "" {
				s.report(o, "spec.conversion.webhook.clientConfig."+field,
					what+", and the manager registers webhook "+declared.GenerateName+" of the ClusterServiceVersion instead",
					"remove spec.conversion from the definition")
			}
		}),
	},
}

// eachConversion checks the definitions with a conversion webhook. Declared is the one of the ClusterServiceVersion, or nil.
func eachConversion(check func(s *subject, o *bundle.Object, crd *apiextensionsv1.CustomResourceDefinition, declared *webhook)) func(*subject) {
	return func(s *subject) {
		declared := map[string]*webhook{}
		for _, w := range s.webhooks() {
			if w.Type == operatorsv1alpha1.ConversionWebhook {
				for _, name := range w.ConversionCRDs {
					declared[name] = &w
				}
			}
		}
		for o, crd := range bundle.Each[*apiextensionsv1.CustomResourceDefinition](s.Bundle) {
			if c := crd.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter {
				check(s, o, crd, declared[crd.Name])
			}
		}
	}
}

// difference returns what a definition's webhook has that the declared one has not, and its field.
func difference(config *apiextensionsv1.WebhookClientConfig, declared *webhook) (field, what string) {
	switch {
	case config.URL != nil:
		return "url", "the conversion of the definition calls " + *config.URL
	case len(config.CABundle) > 0:
		return "caBundle", "the conversion of the definition has a caBundle"
	case config.Service != nil && ptr.Deref(config.Service.Path, "/") != ptr.Deref(declared.WebhookPath, "/"):
		return "service.path", fmt.Sprintf("the conversion of the definition has the path %s, and the declared one %s", ptr.Deref(config.Service.Path, "/"), ptr.Deref(declared.WebhookPath, "/"))
	default:
		return "", ""
	}
}
