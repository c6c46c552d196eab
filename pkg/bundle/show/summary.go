// Package show says what a bundle brings, for people who are about to install it.
package show

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// Summary is what a bundle brings.
type Summary struct {
	Source       string    `json:"source"`
	Name         string    `json:"name"`
	DisplayName  string    `json:"displayName,omitempty"`
	Version      string    `json:"version"`
	Package      string    `json:"package,omitempty"`
	Channels     []string  `json:"channels,omitempty"`
	Replaces     string    `json:"replaces,omitempty"`
	InstallModes []string  `json:"installModes"`
	Webhooks     []Webhook `json:"webhooks"`
	// Rollout are the Deployments in the order in which they start; the webhooks of each
	// go live before the next one starts.
	Rollout     []Step       `json:"rollout"`
	Definitions []Definition `json:"definitions"`
	Permissions []Permission `json:"permissions"`
}

// Webhook is one row of the table of webhooks.
type Webhook struct {
	Type       string   `json:"type"` // Validating, Mutating, Conversion
	Name       string   `json:"name"`
	Deployment string   `json:"deployment"`
	Intercepts []string `json:"intercepts"` // "CREATE,UPDATE pods"
	Where      string   `json:"where"`
	OnFailure  string   `json:"onFailure"` // Fail or Ignore
	// TimeoutSeconds is how long a request waits at most. 0 is not said.
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
}

// Step is a Deployment and the webhooks that it serves.
type Step struct {
	Deployment string   `json:"deployment"`
	Replicas   int32    `json:"replicas"`
	Webhooks   []string `json:"webhooks,omitempty"`
}

// Definition is a CustomResourceDefinition.
type Definition struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Scope    string   `json:"scope"`
	Versions []string `json:"versions"` // "v1 (stored)", "v1beta1 (not served)"
}

// Permission is a rule that an account asks for.
type Permission struct {
	Account string `json:"account"`
	// Where is "cluster", or "watched namespaces".
	Where string `json:"where"`
	Verbs string `json:"verbs"`
	On    string `json:"on"`
}

// Of is the summary of a bundle that can be installed, for an operator that watches some
// namespaces: by default, and with one empty string, all that it supports.
func Of(b *bundle.Bundle, watch []string) Summary {
	csv := b.CSV
	s := Summary{
		Source: b.Source, Name: csv.Name, DisplayName: csv.Spec.DisplayName, Version: csv.Spec.Version.String(),
		Package: b.Package(), Channels: b.Channels(), Replaces: csv.Spec.Replaces,
		Webhooks: []Webhook{}, Definitions: []Definition{}, Permissions: []Permission{},
	}
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported {
			s.InstallModes = append(s.InstallModes, string(mode.Type))
		}
	}
	for _, d := range csv.Spec.WebhookDefinitions {
		s.Webhooks = append(s.Webhooks, webhookOf(d, b.CRDs(), coverageOf(b, watch)))
	}
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		s.Rollout = append(s.Rollout, stepOf(d, csv.Spec.WebhookDefinitions))
	}
	for _, crd := range b.CRDs() {
		s.Definitions = append(s.Definitions, definitionOf(crd))
	}
	for _, a := range bundle.Accounts(csv) {
		s.Permissions = append(s.Permissions, permissionsOf(a)...)
	}
	return s
}

// coverage is what a namespaceSelector lets a webhook see: what lives in namespaces, and the
// Namespaces themselves, which it goes by the labels of.
type coverage struct{ inside, themselves string }

func coverageOf(b *bundle.Bundle, watch []string) coverage {
	watch = slices.DeleteFunc(slices.Clone(watch), func(name string) bool { return name == metav1.NamespaceAll })
	switch names := strings.Join(watch, ", "); {
	case len(watch) == 1:
		return coverage{"in " + names, "the Namespace " + names + " once it is labelled"}
	case len(watch) > 0:
		return coverage{"in " + names, "the Namespaces " + names + " once they are labelled"}
	case b.Supports(operatorsv1alpha1.InstallModeTypeAllNamespaces):
		return coverage{"in all namespaces", "every Namespace"}
	default:
		return coverage{"in the watched namespaces", "the watched Namespaces once they are labelled"}
	}
}

func webhookOf(d operatorsv1alpha1.WebhookDescription, crds []*apiextensionsv1.CustomResourceDefinition, covered coverage) Webhook {
	w := Webhook{Name: d.GenerateName, Deployment: d.DeploymentName, OnFailure: string(admissionregistrationv1.Fail)}
	w.Type = strings.TrimSuffix(strings.TrimSuffix(string(d.Type), "AdmissionWebhook"), "Webhook")
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		w.Where = "wherever they are"
		for _, crd := range d.ConversionCRDs {
			w.Intercepts = append(w.Intercepts, "converts "+crd)
		}
		return w
	}
	w.TimeoutSeconds = 10
	if d.TimeoutSeconds != nil {
		w.TimeoutSeconds = *d.TimeoutSeconds
	}
	if d.FailurePolicy != nil {
		w.OnFailure = string(*d.FailurePolicy)
	}
	w.Where = whereOf(d, crds, covered)
	for _, rule := range d.Rules {
		w.Intercepts = append(w.Intercepts, operations(rule)+" "+strings.Join(resources(rule), ", "))
	}
	return w
}

// whereOf is the effective scope: what a namespaceSelector does not limit is said.
func whereOf(d operatorsv1alpha1.WebhookDescription, crds []*apiextensionsv1.CustomResourceDefinition, covered coverage) string {
	var all []string
	add := func(text string, holds bool) {
		if holds && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, rule := range d.Rules {
		reach := install.ReachOf(rule, crds...)
		add(covered.inside, len(reach.Namespaced) > 0 || len(reach.Unknown) > 0)
		add("in the whole cluster", len(reach.Escaping) > 0)
		add(covered.themselves, reach.Namespaces)
	}
	where := strings.Join(all, " and ")
	if selector := metav1.FormatLabelSelector(d.ObjectSelector); d.ObjectSelector != nil && selector != "" && selector != "<none>" {
		where += ", if " + selector
	}
	return where
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

func stepOf(d operatorsv1alpha1.StrategyDeploymentSpec, webhooks []operatorsv1alpha1.WebhookDescription) Step {
	step := Step{Deployment: d.Name, Replicas: 1}
	if d.Spec.Replicas != nil {
		step.Replicas = *d.Spec.Replicas
	}
	for _, w := range webhooks {
		if w.DeploymentName == d.Name {
			step.Webhooks = append(step.Webhooks, w.GenerateName)
		}
	}
	return step
}

func definitionOf(crd *apiextensionsv1.CustomResourceDefinition) Definition {
	d := Definition{Name: crd.Name, Kind: crd.Spec.Names.Kind, Scope: string(crd.Spec.Scope)}
	for _, v := range crd.Spec.Versions {
		text := v.Name
		switch {
		case v.Storage:
			text += " (stored)"
		case !v.Served:
			text += " (not served)"
		}
		d.Versions = append(d.Versions, text)
	}
	return d
}

func permissionsOf(a bundle.Account) []Permission {
	var all []Permission
	add := func(where string, rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			all = append(all, Permission{Account: a.Name, Where: where, Verbs: strings.Join(rule.Verbs, ","), On: objectsOf(rule)})
		}
	}
	add("cluster", a.Cluster)
	add("watched namespaces", a.Namespaced)
	return all
}

func objectsOf(rule rbacv1.PolicyRule) string {
	if len(rule.NonResourceURLs) > 0 {
		return strings.Join(rule.NonResourceURLs, ", ")
	}
	var all []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			all = append(all, strings.TrimSuffix(resource+"."+group, "."))
		}
	}
	text := strings.Join(all, ", ")
	if len(rule.ResourceNames) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(rule.ResourceNames, ", "))
	}
	return text
}
