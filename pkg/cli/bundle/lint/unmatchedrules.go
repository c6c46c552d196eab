package lint

import (
	"fmt"
	"reflect"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// maxUnmatched is how many findings end the comparison: each name is compared with all names of resources.
const maxUnmatched = 200

// unmatchedRules finds resources that neither Kubernetes nor the bundle has. Other operators may serve other groups.
func unmatchedRules(s *subject) []mistake {
	catalog := s.catalog()
	var all []mistake
	for _, w := range s.admission() {
		for i, rule := range w.Rules {
			if len(all) > maxUnmatched {
				return append(all, s.inCSV("spec.webhookdefinitions", "the other rules are not compared with APIs: too many match nothing", "correct the listed ones, and validate the bundle again"))
			}
			field := fmt.Sprintf("%s.rules[%d].", w.path, i)
			one := w.WebhookDescription
			one.Rules = []admissionregistrationv1.RuleWithOperations{rule}
			for _, u := range rules.Mismatches(one, catalog) {
				m := s.inCSV(field+"resources", "the webhook is not called for all that its rule names: "+u.What, u.WayOut)
				m.level = levelOfName(u.Resource)
				all = append(all, m)
			}
			for _, group := range rule.APIGroups {
				if what, remedy := unknownGroup(group, catalog); what != "" {
					all = append(all, s.inCSV(field+"apiGroups", what, remedy))
				}
			}
			all = append(all, s.capitalNames(rule, catalog, field)...)
		}
	}
	return all
}

// levelOfName is Error for a name with capital letters: kinds have them, and resources do not.
func levelOfName(resource string) Level {
	if strings.ToLower(resource) != resource {
		return Error
	}
	return ""
}

// unknownGroup ignores other operators' groups: they have a domain, and resemble no known one.
func unknownGroup(group string, catalog rules.Catalog) (what, remedy string) {
	if group == "*" || catalog.Groups[group] != nil {
		return "", ""
	}
	near := catalog.NearestGroup(group)
	if strings.Contains(group, ".") && near == "" || strings.HasSuffix(group, ".x-k8s.io") { // those of Kubernetes' experiments resemble it
		return "", ""
	}
	if near == "" {
		return fmt.Sprintf("no API server serves the group %.100q: it is none of Kubernetes, and those of others have a domain", group), "name the group as in the apiVersion of what the webhook is for, without the version"
	}
	return fmt.Sprintf("the group %.100q is neither Kubernetes' nor the bundle's", group), near + ", or waive this if it is another operator's"
}

func (s *subject) capitalNames(rule admissionregistrationv1.RuleWithOperations, catalog rules.Catalog, field string) []mistake {
	var all []mistake
	for _, named := range rule.Resources {
		for _, group := range rule.APIGroups {
			if catalog.Groups[group] == nil && strings.ToLower(named) != named {
				m := s.inCSV(field+"resources", fmt.Sprintf("the webhook is never called for %.100q: names of resources have no capitals", named), "write the plural, as in the name of its CustomResourceDefinition")
				m.level = levelOfName(named)
				all = append(all, m)
				break
			}
		}
	}
	return all
}

func (s *subject) catalog() rules.Catalog {
	catalog := rules.Catalog{WithoutSubresources: true}
	for version, resources := range resourcesOfKubernetes() {
		catalog.Add(version, resources)
	}
	for _, crd := range s.CRDs() {
		catalog.AddDefinition(crd)
	}
	definitions := s.CSV.Spec.CustomResourceDefinitions
	for _, required := range definitions.Required {
		if _, group, ok := strings.Cut(required.Name, "."); ok {
			catalog.Add(schema.GroupVersion{Group: group, Version: required.Version}, nil)
		}
	}
	for _, owned := range s.CSV.Spec.APIServiceDefinitions.Owned {
		catalog.Add(schema.GroupVersion{Group: owned.Group, Version: owned.Version}, nil)
	}
	for _, required := range s.CSV.Spec.APIServiceDefinitions.Required {
		catalog.Add(schema.GroupVersion{Group: required.Group, Version: required.Version}, nil)
	}
	return catalog
}

// resourcesOfKubernetes includes every version that Kubernetes ever served.
var resourcesOfKubernetes = sync.OnceValue(func() map[schema.GroupVersion][]rules.Resource {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiextensionsv1.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(known); err != nil {
			panic(err) // the types are compiled in
		}
	}
	all := map[schema.GroupVersion][]rules.Resource{}
	for kind, of := range known.AllKnownTypes() {
		if kind.Version == runtime.APIVersionInternal || !isObject(of) {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		all[kind.GroupVersion()] = append(all[kind.GroupVersion()], rules.Resource{Name: plural.Resource, Kind: kind})
	}
	return all
})

// isObject reports whether a type has metadata of its own, which lists and options do not.
func isObject(of reflect.Type) bool {
	_, ok := reflect.New(of).Interface().(metav1.Object)
	return ok
}
