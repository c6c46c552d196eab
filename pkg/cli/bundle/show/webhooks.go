package show

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// Webhook is one row of the table of webhooks.
type Webhook struct {
	Type string `json:"type"` // Validating, Mutating, Conversion, APIService, Policy
	Name string `json:"name"`
	// Disabled names what disables the webhook; empty for nothing.
	Disabled string `json:"disabled,omitempty"`
	// Deployment serves it; empty for what the manager does not serve.
	Deployment string `json:"deployment,omitempty"`
	// Object registers the webhook, which calls Calls; both are empty for what the ClusterServiceVersion declares.
	Object     string   `json:"object,omitempty"`
	Calls      string   `json:"calls,omitempty"`
	Intercepts []string `json:"intercepts"` // "CREATE,UPDATE pods"
	Where      string   `json:"where"`
	OnFailure  string   `json:"onFailure"` // Fail, Ignore, or what a binding of a policy does
	// TimeoutSeconds is how long a request waits at most. 0 is not shown.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

func (c *contents) webhooks() []Webhook {
	var all []Webhook
	covered := coverageOf(c.group)
	config := subscriptions.ConfigOf(c.subscription)
	for _, d := range c.csv.Spec.WebhookDefinitions {
		w := webhookOf(d, c.definitions, covered)
		if config.Disabled(d) {
			w.Disabled = "the config of Subscription " + config.Subscription
		}
		all = append(all, w)
	}
	for _, d := range c.csv.Spec.APIServiceDefinitions.Owned {
		all = append(all, Webhook{
			Type: apiService, Name: csvspec.APIServiceName(d.Group, d.Version), Deployment: d.DeploymentName,
			Intercepts: []string{fmt.Sprintf("all requests for %s/%s", d.Group, d.Version)}, Where: everywhere, OnFailure: fail,
		})
	}
	for _, o := range c.intercepts {
		all = append(all, c.interceptionsOf(o)...)
	}
	for _, crd := range c.definitions {
		if csvspec.Converts(c.csv, crd.Name) < 0 { // else the manager registers that in place of what the definition names
			all = append(all, conversionOf(crd)...)
		}
	}
	return byDanger(all, dangerOfWebhook)
}

func dangerOfWebhook(w Webhook) int {
	danger := 0
	if slices.ContainsFunc(w.Intercepts, func(text string) bool { return strings.Contains(text, "*") }) {
		danger = 1
	}
	if w.Object != "" {
		danger += 2
	}
	return danger
}

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
	w.TimeoutSeconds = ptr.Deref(d.TimeoutSeconds, 10)
	w.OnFailure = string(ptr.Deref(d.FailurePolicy, admissionregistrationv1.Fail))
	w.Where = whereOf(d.Rules, crds, covered, d.ObjectSelector)
	w.Intercepts = interceptsOf(d.Rules)
	return w
}

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
	return lists.Map(rules, func(rule admissionregistrationv1.RuleWithOperations) string {
		return strings.Join(lists.Texts(rule.Operations), ",") + " " + strings.Join(qualified(rule.APIGroups, rule.Resources), ", ")
	})
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
