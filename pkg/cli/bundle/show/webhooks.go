package show

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// Webhook is one row of the table of webhooks.
type Webhook struct {
	Type string `json:"type"` // Validating, Mutating, Conversion, APIService, Policy
	Name string `json:"name"`
	// Deployment serves it; empty for what the manager does not serve.
	Deployment string `json:"deployment,omitempty"`
	// Object is the object of the bundle that registers it, and Calls what it calls: empty for
	// what the ClusterServiceVersion declares.
	Object     string   `json:"object,omitempty"`
	Calls      string   `json:"calls,omitempty"`
	Intercepts []string `json:"intercepts"` // "CREATE,UPDATE pods"
	Where      string   `json:"where"`
	OnFailure  string   `json:"onFailure"` // Fail or Ignore
	// TimeoutSeconds is how long a request waits at most. 0 is not said.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// webhooks are all that is called for requests: what is for everything first, then what the manager
// does not serve.
func (c *contents) webhooks() []Webhook {
	var all []Webhook
	covered := coverageOf(c.group)
	for _, d := range c.csv.Spec.WebhookDefinitions {
		all = append(all, webhookOf(d, c.definitions, covered))
	}
	for _, d := range c.csv.Spec.APIServiceDefinitions.Owned {
		all = append(all, Webhook{
			Type: apiService, Name: csvspec.APIServiceName(d.Group, d.Version), Deployment: d.DeploymentName,
			Intercepts: []string{fmt.Sprintf("all requests for %s/%s", d.Group, d.Version)}, Where: everywhere, OnFailure: fail,
		})
	}
	for _, o := range c.intercepts {
		all = append(all, interceptionsOf(o, c.definitions)...)
	}
	for _, crd := range c.definitions {
		if !c.converts(crd.Name) {
			all = append(all, conversionOf(crd)...)
		}
	}
	return byDanger(all, dangerOfWebhook)
}

// converts reports whether the ClusterServiceVersion declares the conversion of a definition: the
// manager then registers its own in place of what the definition names.
func (c *contents) converts(definition string) bool {
	return slices.ContainsFunc(c.csv.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) bool {
		return d.Type == operatorsv1alpha1.ConversionWebhook && slices.Contains(d.ConversionCRDs, definition)
	})
}

func dangerOfWebhook(w Webhook) int {
	everything := slices.ContainsFunc(w.Intercepts, func(text string) bool { return strings.Contains(text, "*") })
	switch {
	case everything && w.Object != "":
		return 3
	case w.Object != "":
		return 2
	case everything:
		return 1
	default:
		return 0
	}
}

// coverage is what a namespaceSelector lets a webhook see: what lives in namespaces, and the
// Namespaces themselves, which it goes by the labels of.
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

const (
	everywhere = "in the whole cluster"
	fail       = string(admissionregistrationv1.Fail)
	apiService = "APIService"
)

func webhookOf(d operatorsv1alpha1.WebhookDescription, crds []*apiextensionsv1.CustomResourceDefinition, covered coverage) Webhook {
	w := Webhook{Name: d.GenerateName, Deployment: d.DeploymentName, OnFailure: fail}
	w.Type = strings.TrimSuffix(strings.TrimSuffix(string(d.Type), "AdmissionWebhook"), "Webhook")
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		w.Where = "wherever they are"
		for _, crd := range d.ConversionCRDs {
			w.Intercepts = append(w.Intercepts, "converts "+crd)
		}
		return w
	}
	w.TimeoutSeconds = timeout(d.TimeoutSeconds)
	if d.FailurePolicy != nil {
		w.OnFailure = string(*d.FailurePolicy)
	}
	w.Where = whereOf(d.Rules, crds, covered) + selecting(d.ObjectSelector)
	w.Intercepts = interceptsOf(d.Rules)
	return w
}

func timeout(seconds *int32) int32 {
	if seconds == nil {
		return 10
	}
	return *seconds
}

func interceptsOf(rules []admissionregistrationv1.RuleWithOperations) []string {
	var all []string
	for _, rule := range rules {
		all = append(all, operations(rule)+" "+strings.Join(resources(rule), ", "))
	}
	return all
}

// whereOf is the effective scope: what a namespaceSelector does not limit is said.
func whereOf(all []admissionregistrationv1.RuleWithOperations, crds []*apiextensionsv1.CustomResourceDefinition, covered coverage) string {
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
	return strings.Join(places, " and ")
}

// everyGroup reports whether a rule is for cluster-scoped objects of all groups.
func everyGroup(rule admissionregistrationv1.RuleWithOperations) bool {
	return slices.Contains(rule.APIGroups, "*") && (rule.Scope == nil || *rule.Scope != admissionregistrationv1.NamespacedScope)
}

func selecting(selector *metav1.LabelSelector) string {
	if text := selectorText(selector); text != "" {
		return ", if " + text
	}
	return ""
}

func selectorText(selector *metav1.LabelSelector) string {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return ""
	}
	return metav1.FormatLabelSelector(selector)
}

func operations(rule admissionregistrationv1.RuleWithOperations) string {
	var all []string
	for _, o := range rule.Operations {
		all = append(all, string(o))
	}
	return strings.Join(all, ",")
}

func resources(rule admissionregistrationv1.RuleWithOperations) []string {
	var all []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			all = append(all, strings.TrimSuffix(resource+"."+group, "."))
		}
	}
	return all
}
