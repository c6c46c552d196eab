// Package rules finds the resources that the rules of a webhook match.
package rules

import (
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Resource is a resource or subresource that an API server serves in one version.
type Resource struct {
	// Name is the plural, as in "pods" or "pods/status".
	Name string
	Kind schema.GroupVersionKind
	// Extent is Unknown if it is not known whether the resource is namespaced.
	Extent Extent
}

// Catalog lists the known resources of an API server.
type Catalog struct {
	// Groups are the served versions by group. A version without entries has unknown resources.
	Groups map[string]map[string][]Resource
	// Closed is set if groups that are not in Groups are not served.
	Closed bool
	// WithoutSubresources is set if subresources are not listed.
	WithoutSubresources bool
	// Names are other served groups, for suggestions.
	Names []string
}

// Groups returns the API groups in the rules of the admission webhooks of a CSV.
func Groups(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	var groups []string
	for _, d := range csv.Spec.WebhookDefinitions[:csvspec.WebhooksWithinLimit(csv)] {
		if d.Type == operatorsv1alpha1.ConversionWebhook {
			continue
		}
		for _, rule := range d.Rules {
			groups = append(groups, rule.APIGroups...)
		}
	}
	return lists.Distinct(groups)
}

// Add adds the resources of a version. If resources is nil, they are not known.
func (c *Catalog) Add(version schema.GroupVersion, resources []Resource) {
	if c.Groups == nil {
		c.Groups = map[string]map[string][]Resource{}
	}
	if c.Groups[version.Group] == nil {
		c.Groups[version.Group] = map[string][]Resource{}
	}
	known, listed := c.Groups[version.Group][version.Version]
	if listed && known == nil || resources == nil {
		c.Groups[version.Group][version.Version] = nil
		return
	}
	if !listed {
		c.Groups[version.Group][version.Version] = slices.Clip(resources)
		return
	}
	c.Groups[version.Group][version.Version] = append(known, resources...)
}

// AddDefinition adds the resources of a CRD.
func (c *Catalog) AddDefinition(crd *apiextensionsv1.CustomResourceDefinition) {
	extent := definedExtent(crd)
	for _, v := range crd.Spec.Versions {
		if !v.Served {
			continue
		}
		version := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
		kind := version.WithKind(crd.Spec.Names.Kind)
		resources := []Resource{{crd.Spec.Names.Plural, kind, extent}}
		if v.Subresources != nil && v.Subresources.Status != nil {
			resources = append(resources, Resource{crd.Spec.Names.Plural + "/status", kind, extent})
		}
		if v.Subresources != nil && v.Subresources.Scale != nil {
			resources = append(resources, Resource{crd.Spec.Names.Plural + "/scale", schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}, extent})
		}
		c.Add(version, resources)
	}
}

func definedExtent(crd *apiextensionsv1.CustomResourceDefinition) Extent {
	if crd.Spec.Scope == apiextensionsv1.ClusterScoped {
		return ClusterScoped
	}
	return Namespaced
}

// Found is what a catalog knows about a resource in a rule.
type Found struct {
	Served  []Served // what the rule matches, by group, and then by version
	unknown bool     // the catalog does not know all that the rule could match
}

// Served is a resource in the version in which it is served. The kind of a subresource may have another version.
type Served struct {
	Resource
	Version schema.GroupVersion
}

// Find returns the resources of the catalog that a rule matches by one of its resources.
func (c Catalog) Find(rule admissionregistrationv1.RuleWithOperations, named string) Found {
	var f Found
	for _, group := range rule.APIGroups {
		versions, known := c.Groups[group]
		f.unknown = f.unknown || group == "*" || !known && !c.Closed
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			if !slices.Contains(rule.APIVersions, "*") && !slices.Contains(rule.APIVersions, version) {
				continue
			}
			f.unknown = f.unknown || versions[version] == nil
			for _, r := range versions[version] {
				if c.names(named, r.Name) && CoversExtent(rule, r.Extent) {
					f.Served = append(f.Served, Served{r, schema.GroupVersion{Group: group, Version: version}})
				}
			}
		}
	}
	return f
}

// As API servers match. Unlisted subresources count as matched by their resource.
func (c Catalog) names(named, served string) bool {
	resource, subresource, _ := strings.Cut(named, "/")
	servedResource, servedSubresource, _ := strings.Cut(served, "/")
	if resource != "*" && resource != servedResource {
		return false
	}
	return subresource == "*" || subresource == servedSubresource || c.WithoutSubresources
}
