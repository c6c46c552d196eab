package show

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

const (
	everywhere = "in the whole cluster"
	fail       = string(admissionregistrationv1.Fail)
	apiService = "APIService"
)

// coverage is the effect of a namespaceSelector on objects, and on Namespaces, which have labels of their own.
type coverage struct{ inside, themselves string }

func coverageOf(group *operatorsv1.OperatorGroup) coverage {
	watch := slices.DeleteFunc(slices.Clone(group.Spec.TargetNamespaces), func(name string) bool { return name == metav1.NamespaceAll })
	switch names := strings.Join(watch, ", "); {
	case len(watch) == 1:
		return coverage{"in " + names, "the Namespace " + names + " once it is labelled"}
	case len(watch) > 0:
		return coverage{"in " + names, "the Namespaces " + names + " once they are labelled"}
	case group.Spec.Selector != nil:
		selected := "namespaces with " + metav1.FormatLabelSelector(group.Spec.Selector)
		return coverage{"in " + selected, selected}
	default:
		return coverage{"in all namespaces", "every Namespace"}
	}
}

func selectedBy(selector *metav1.LabelSelector) coverage {
	text := selectorText(selector)
	if text == "" {
		return coverage{"in all namespaces", "every Namespace"}
	}
	return coverage{"in namespaces with " + text, "Namespaces with " + text}
}

func interceptsOf(rules []admissionregistrationv1.RuleWithOperations) []string {
	var all []string
	for _, rule := range rules {
		var operations []string
		for _, o := range rule.Operations {
			operations = append(operations, string(o))
		}
		all = append(all, strings.Join(operations, ",")+" "+strings.Join(qualified(rule.APIGroups, rule.Resources), ", "))
	}
	return all
}

// whereOf returns the effective scope, with the objects that a namespaceSelector does not limit.
func whereOf(all []admissionregistrationv1.RuleWithOperations, crds []*apiextensionsv1.CustomResourceDefinition, covered coverage, objects *metav1.LabelSelector) string {
	var places []string
	add := func(text string, holds bool) {
		if holds && !slices.Contains(places, text) {
			places = append(places, text)
		}
	}
	for _, rule := range all {
		reach := rules.ReachOf(rule, crds...)
		add(covered.inside, len(reach.Namespaced) > 0 || len(reach.Unknown) > 0)
		add(everywhere, len(reach.Escaping) > 0 || everyGroup(rule))
		add(covered.themselves, reach.Namespaces || everyGroup(rule))
	}
	where := strings.Join(places, " and ")
	if text := selectorText(objects); text != "" {
		where += ", if " + text
	}
	return where
}

func everyGroup(rule admissionregistrationv1.RuleWithOperations) bool {
	return slices.Contains(rule.APIGroups, "*") && (rule.Scope == nil || *rule.Scope != admissionregistrationv1.NamespacedScope)
}
