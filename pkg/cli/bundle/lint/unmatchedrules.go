package lint

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// maxUnmatched is how many findings end the comparison: each name is compared with all names of resources.
const maxUnmatched = 200

// unmatchedRules finds resources that neither Kubernetes nor the bundle has. Other operators may serve other groups.
func unmatchedRules(s *subject) {
	catalog := s.catalog()
	for _, w := range s.admission() {
		for i, rule := range w.Rules {
			if len(s.found) > maxUnmatched {
				s.reportCSV("spec.webhookdefinitions", "the other rules are not compared with APIs: too many match nothing", "correct the listed ones, and validate the bundle again")
				return
			}
			path := fmt.Sprintf("%s.rules[%d]", w.path, i)
			one := w.WebhookDescription
			one.Rules = []admissionregistrationv1.RuleWithOperations{rule}
			for _, u := range rules.Mismatches(one, catalog) {
				var level Level
				if hasCapitals(u.Resource) {
					level = Error
				}
				s.reportAt(level, s.CSVObject, path+".resources", "the webhook is not called for all that its rule names: "+u.What, u.WayOut)
			}
			for _, group := range rule.APIGroups {
				unknownGroup(group, catalog, s.below(path))
			}
			s.capitalNames(rule, catalog, path)
		}
	}
}

// hasCapitals reports whether a name is none of a resource: kinds have capital letters, and resources do not.
func hasCapitals(resource string) bool { return strings.ToLower(resource) != resource }

// unknownGroup ignores other operators' groups: they have a domain, and resemble no known one.
func unknownGroup(group string, catalog rules.Catalog, report reporter) {
	if group == "*" || catalog.Groups[group] != nil || strings.HasSuffix(group, ".x-k8s.io") { // those of Kubernetes' experiments resemble it
		return
	}
	if near := catalog.NearestGroup(group); near != "" {
		report("apiGroups", fmt.Sprintf("the group %.100q is neither Kubernetes' nor the bundle's", group), near+", or waive this if it is another operator's")
	} else if !strings.Contains(group, ".") {
		report("apiGroups", fmt.Sprintf("no API server serves the group %.100q: it is none of Kubernetes, and those of others have a domain", group), "name the group as in the apiVersion of what the webhook is for, without the version")
	}
}

func (s *subject) capitalNames(rule admissionregistrationv1.RuleWithOperations, catalog rules.Catalog, path string) {
	if !slices.ContainsFunc(rule.APIGroups, func(group string) bool { return catalog.Groups[group] == nil }) {
		return
	}
	for _, named := range rule.Resources {
		if hasCapitals(named) {
			s.reportAt(Error, s.CSVObject, path+".resources", fmt.Sprintf("the webhook is never called for %.100q: names of resources have no capitals", named), "write the plural, as in the name of its CustomResourceDefinition")
		}
	}
}

func (s *subject) catalog() rules.Catalog {
	catalog := rules.Catalog{WithoutSubresources: true}
	for version, resources := range resourcesOfKubernetes() {
		catalog.Add(version, resources)
	}
	for _, crd := range s.CRDs() {
		catalog.AddDefinition(crd)
	}
	for _, required := range s.CSV.Spec.CustomResourceDefinitions.Required {
		if _, group, ok := strings.Cut(required.Name, "."); ok {
			catalog.Add(schema.GroupVersion{Group: group, Version: required.Version}, nil)
		}
	}
	for _, d := range slices.Concat(s.CSV.Spec.APIServiceDefinitions.Owned, s.CSV.Spec.APIServiceDefinitions.Required) {
		catalog.Add(schema.GroupVersion{Group: d.Group, Version: d.Version}, nil)
	}
	return catalog
}

// resourcesOfKubernetes includes every version that Kubernetes ever served.
var resourcesOfKubernetes = sync.OnceValue(func() map[schema.GroupVersion][]rules.Resource {
	known := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(scheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme)
	utilruntime.Must(builder.AddToScheme(known))
	all := map[schema.GroupVersion][]rules.Resource{}
	for kind, of := range known.AllKnownTypes() {
		_, isObject := reflect.New(of).Interface().(metav1.Object) // lists and options have no metadata of their own
		if kind.Version == runtime.APIVersionInternal || !isObject {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		all[kind.GroupVersion()] = append(all[kind.GroupVersion()], rules.Resource{Name: plural.Resource, Kind: kind})
	}
	return all
})
