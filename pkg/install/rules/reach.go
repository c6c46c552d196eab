package rules

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Extent says where the objects of a resource live.
type Extent string

// The extents of a resource.
const (
	// Unknown is a resource of which nobody told where its objects live.
	Unknown Extent = ""
	// Namespaced objects live in a Namespace: a namespaceSelector limits who intercepts them.
	Namespaced Extent = "Namespaced"
	// ClusterScoped objects live in none: no namespaceSelector limits who intercepts them.
	ClusterScoped Extent = "Cluster"
)

// Reach is what one rule of a webhook intercepts, and how far: resources are named as
// "deployments.apps", or "pods/status" with a subresource.
type Reach struct {
	// Namespaced are intercepted in the namespaces of the OperatorGroup alone.
	Namespaced []string
	// ClusterScoped are intercepted everywhere, whatever the OperatorGroup covers.
	ClusterScoped []string
	// Escaping are intercepted whatever the OperatorGroup covers: those of ClusterScoped, and
	// what "*" stands for among the resources of Kubernetes that live in no namespace.
	Escaping []string
	// Namespaces are the Namespace objects themselves, which a namespaceSelector matches
	// by their own labels: one that is being created bears no group's label yet, and is not
	// intercepted under a group of some namespaces.
	Namespaces bool
	// Unknown are resources of which it is not known where their objects live: limited
	// to the OperatorGroup if they live in namespaces.
	Unknown []string
}

// ReachOf is the effective scope of a rule. The definitions are those of custom
// resources, as far as they are known.
func ReachOf(rule admissionregistrationv1.RuleWithOperations, definitions ...*apiextensionsv1.CustomResourceDefinition) Reach {
	var reach Reach
	for _, group := range rule.APIGroups {
		for _, named := range rule.Resources {
			reach.add(rule, group, named, definitions)
		}
	}
	return reach
}

func (r *Reach) add(rule admissionregistrationv1.RuleWithOperations, group, named string, definitions []*apiextensionsv1.CustomResourceDefinition) {
	resource, subresource, _ := strings.Cut(named, "/")
	of := schema.GroupResource{Group: group, Resource: resource}
	text := of.String()
	if subresource != "" {
		text += "/" + subresource
	}
	if everyNamespaceObject(of) && CoversExtent(rule, ClusterScoped) {
		r.Namespaces = true
		if resource != "*" {
			return
		}
	}
	if resource == "*" && CoversExtent(rule, ClusterScoped) {
		r.Escaping = append(r.Escaping, inNoNamespace(group, subresource)...)
	}
	switch extent := limited(rule, extentOf(of, definitions)); {
	case !CoversExtent(rule, extent):
		// Such objects live where the rule does not look.
	case extent == Namespaced:
		r.Namespaced = append(r.Namespaced, text)
	case extent == ClusterScoped:
		r.ClusterScoped = append(r.ClusterScoped, text)
		if resource != "*" || clusterScopedResources[group] == nil {
			r.Escaping = append(r.Escaping, text)
		}
	default:
		r.Unknown = append(r.Unknown, text)
	}
}

// inNoNamespace are the resources of a group of Kubernetes that live in no namespace and can be
// written, but for Namespaces.
func inNoNamespace(group, subresource string) []string {
	var all []string
	for _, resource := range clusterScopedResources[group] {
		if resource == "namespaces" || resource == "componentstatuses" {
			continue
		}
		text := schema.GroupResource{Group: group, Resource: resource}.String()
		if subresource != "" && subresource != "*" {
			text += "/" + subresource
		}
		all = append(all, text)
	}
	return all
}

func everyNamespaceObject(r schema.GroupResource) bool {
	return r.Group == "" && (r.Resource == "namespaces" || r.Resource == "*")
}

// limited is an extent under the scope that the rule itself gives.
func limited(rule admissionregistrationv1.RuleWithOperations, e Extent) Extent {
	if e != Unknown || rule.Scope == nil {
		return e
	}
	switch *rule.Scope {
	case admissionregistrationv1.NamespacedScope:
		return Namespaced
	case admissionregistrationv1.ClusterScope:
		return ClusterScoped
	default:
		return Unknown
	}
}

func extentOf(r schema.GroupResource, definitions []*apiextensionsv1.CustomResourceDefinition) Extent {
	for _, crd := range definitions {
		if crd.Spec.Group != r.Group || crd.Spec.Names.Plural != r.Resource {
			continue
		}
		if crd.Spec.Scope == apiextensionsv1.ClusterScoped {
			return ClusterScoped
		}
		return Namespaced
	}
	clusterScoped, builtIn := clusterScopedResources[r.Group]
	switch {
	case !builtIn || r.Resource == "*":
		return Unknown
	case slices.Contains(clusterScoped, r.Resource):
		return ClusterScoped
	default:
		return Namespaced
	}
}

// clusterScopedResources are those of the API groups that Kubernetes serves itself.
// What a group has beside them lives in namespaces.
var clusterScopedResources = map[string][]string{
	"":                             {"namespaces", "nodes", "persistentvolumes", "componentstatuses"},
	"admissionregistration.k8s.io": {"mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"},
	"apiextensions.k8s.io":         {"customresourcedefinitions"},
	"apiregistration.k8s.io":       {"apiservices"},
	"apps":                         nil,
	"authentication.k8s.io":        {"tokenreviews", "selfsubjectreviews"},
	"authorization.k8s.io":         {"selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"},
	"autoscaling":                  nil,
	"batch":                        nil,
	"certificates.k8s.io":          {"certificatesigningrequests", "clustertrustbundles"},
	"coordination.k8s.io":          nil,
	"discovery.k8s.io":             nil,
	"events.k8s.io":                nil,
	"flowcontrol.apiserver.k8s.io": {"flowschemas", "prioritylevelconfigurations"},
	"networking.k8s.io":            {"ingressclasses", "ipaddresses", "servicecidrs"},
	"node.k8s.io":                  {"runtimeclasses"},
	"policy":                       nil,
	"rbac.authorization.k8s.io":    {"clusterroles", "clusterrolebindings"},
	"resource.k8s.io":              {"deviceclasses", "resourceslices", "devicetaintrules"},
	"scheduling.k8s.io":            {"priorityclasses"},
	"storage.k8s.io":               {"csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"},
	"storagemigration.k8s.io":      {"storageversionmigrations"},
}
