// Package show describes what an installation of a bundle creates, for people who are about to agree to
// it. Everything shown is read from the final objects, which are also what is applied.
package show

import (
	"cmp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Summary is what an installation brings.
type Summary struct {
	Source       string    `json:"source"`
	Name         string    `json:"name"`
	DisplayName  string    `json:"displayName,omitempty"`
	Version      string    `json:"version"`
	Package      string    `json:"package,omitempty"`
	Channels     []string  `json:"channels,omitempty"`
	Replaces     string    `json:"replaces,omitempty"`
	Skips        []string  `json:"skips,omitempty"`
	InstallModes []string  `json:"installModes"`
	Namespace    Namespace `json:"namespace"`
	// Webhooks are all that is called for requests, also what the manager does not serve.
	Webhooks []Webhook `json:"webhooks"`
	// Rollout are the Deployments in their order: the webhooks of each go live before the next one starts.
	Rollout     []Step       `json:"rollout"`
	Definitions []Definition `json:"definitions"`
	Permissions []Permission `json:"permissions"`
	Deployments []Deployment `json:"deployments"`
	Objects     []Object     `json:"objects"`
	Refused     []string     `json:"refused"`
}

// Namespace is what is written into the operator's namespace.
type Namespace struct {
	Name        string            `json:"name"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
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

// Object is an object that none of the other lists of a Summary has.
type Object struct {
	Kind      string `json:"kind"` // "NetworkPolicy.networking.k8s.io"
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Details are the fields that decide how dangerous a Secret or a PriorityClass is.
	Details string `json:"details,omitempty"`
}

type contents struct {
	csv          *operatorsv1alpha1.ClusterServiceVersion
	group        *operatorsv1.OperatorGroup
	subscription *operatorsv1alpha1.Subscription
	definitions  []*apiextensionsv1.CustomResourceDefinition
	roles        []role
	bindings     []binding // with subjects
	intercepts   []any     // webhook configurations, admission policies and their bindings, and APIServices
	workloads    []workload
	others       []Object
	accounts     []string // the ServiceAccounts of the operator's namespace
	namespace    Namespace
}

// Of is the summary of the final objects of a bundle, as bundle.Manifests returns them.
func Of(b *bundle.Bundle, manifests []*unstructured.Unstructured, refusals ...bundle.Refusal) Summary {
	c := contentsOf(manifests)
	csv := c.csv
	s := Summary{
		Source: b.Source, Name: csv.Name, DisplayName: csv.Spec.DisplayName, Version: csv.Spec.Version.String(),
		Package: b.Package(), Channels: b.Channels(), Replaces: csv.Spec.Replaces, Skips: csv.Spec.Skips,
		Namespace: c.namespace, Webhooks: c.webhooks(), Permissions: c.permissions(), Deployments: c.deployments(), Objects: c.others,
		Rollout: rollout(csv), Definitions: lists.Map(c.definitions, definitionOf), Refused: lists.Map(refusals, bundle.Refusal.String),
	}
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported {
			s.InstallModes = append(s.InstallModes, string(mode.Type))
		}
	}
	return s
}

// contentsOf expects the namespace first and the ClusterServiceVersion last. No object is left out.
func contentsOf(manifests []*unstructured.Unstructured) *contents {
	c := &contents{csv: &operatorsv1alpha1.ClusterServiceVersion{}, group: &operatorsv1.OperatorGroup{}}
	for i, m := range manifests {
		typed := bundle.Typed(m)
		csv, isCSV := typed.(*operatorsv1alpha1.ClusterServiceVersion)
		switch {
		case i == 0:
			c.namespace = Namespace{m.GetName(), m.GetLabels(), m.GetAnnotations()}
		case isCSV && i == len(manifests)-1:
			c.csv = csv
		case c.define(typed), c.keep(typed), c.work(m.GroupVersionKind().Kind, m.GetName(), typed):
		default:
			c.others = append(c.others, Object{m.GroupVersionKind().GroupKind().String(), m.GetNamespace(), m.GetName(), strings.Join(Details(m), ", ")})
		}
		if m.GroupVersionKind().GroupKind() == groupkind.ServiceAccount && m.GetNamespace() == c.namespace.Name {
			c.accounts = append(c.accounts, m.GetName())
		}
		switch o := typed.(type) { // Those of a bundle are refused, and come first.
		case *operatorsv1.OperatorGroup:
			c.group = o
		case *operatorsv1alpha1.Subscription:
			c.subscription = o
		}
	}
	c.others = byDanger(append(c.ungranted(), c.others...), func(o Object) int { return len(o.Details) })
	return c
}

func (c *contents) define(typed any) bool {
	if crd, ok := typed.(*apiextensionsv1.CustomResourceDefinition); ok {
		c.definitions = append(c.definitions, crd)
		return true
	}
	if len(c.interceptionsOf(typed)) > 0 {
		c.intercepts = append(c.intercepts, typed)
		return true
	}
	return false
}

// rollout returns the Deployments in the order in which they start. One that is listed twice starts once.
func rollout(csv *operatorsv1alpha1.ClusterServiceVersion) []Step {
	webhooks := map[string][]string{}
	for _, w := range csv.Spec.WebhookDefinitions {
		webhooks[w.DeploymentName] = append(webhooks[w.DeploymentName], w.GenerateName)
	}
	return lists.Map(csvspec.Deployments(csv), func(d operatorsv1alpha1.StrategyDeploymentSpec) Step {
		return Step{Deployment: d.Name, Replicas: ptr.Deref(d.Spec.Replicas, 1), Webhooks: webhooks[d.Name]}
	})
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

// byDanger sorts the most dangerous first. Equals stay in their order.
func byDanger[T any](all []T, danger func(T) int) []T {
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(danger(b), danger(a)) })
	return all
}

func qualified(groups, resources []string) []string {
	var all []string
	for _, group := range groups {
		for _, resource := range resources {
			all = append(all, strings.TrimSuffix(resource+"."+group, "."))
		}
	}
	return all
}
