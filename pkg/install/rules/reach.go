package rules

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Extent is the scope of a resource.
type Extent string

const (
	// Unknown means that the scope of the resource is not known.
	Unknown Extent = ""
	// Namespaced means that a namespaceSelector applies to the objects.
	Namespaced Extent = "Namespaced"
	// ClusterScoped means that no namespaceSelector applies to the objects.
	ClusterScoped Extent = "Cluster"
)

// Reach is what one rule intercepts. Resources are named as "deployments.apps" or "pods/status".
type Reach struct {
	// Namespaced are resources that are intercepted only in the namespaces of the OperatorGroup.
	Namespaced []string
	// ClusterScoped are resources that are intercepted independently of the OperatorGroup.
	ClusterScoped []string
	// Escaping are those in ClusterScoped, and cluster-scoped ones of Kubernetes that a "*" matches.
	Escaping []string
	// Namespaces is set if Namespace objects are intercepted. A namespaceSelector matches their own labels,
	// and one that is being created has no label of the group yet.
	Namespaces bool
	// Unknown are resources of unknown scope. The OperatorGroup limits them if they are namespaced.
	Unknown []string
}

// ReachOf returns the effective scope of a rule. definitions are the known CRDs of the resources.
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
	if group == "" && (resource == "namespaces" || resource == "*") && CoversExtent(rule, ClusterScoped) {
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

// Only writable ones, and no Namespaces.
func inNoNamespace(group, subresource string) []string {
	return lists.FilterMap(clusterScopedResources[group], func(resource string) (string, bool) {
		text := schema.GroupResource{Group: group, Resource: resource}.String()
		if subresource != "" && subresource != "*" {
			text += "/" + subresource
		}
		return text, resource != "namespaces" && resource != "componentstatuses"
	})
}

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
		if crd.Spec.Group == r.Group && crd.Spec.Names.Plural == r.Resource {
			return definedExtent(crd)
		}
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

// All other resources of these groups are namespaced.
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

// CoversExtent reports whether the scope of a rule includes an extent.
func CoversExtent(r admissionregistrationv1.RuleWithOperations, e Extent) bool {
	if r.Scope == nil || *r.Scope == admissionregistrationv1.AllScopes || e == Unknown {
		return true
	}
	return (*r.Scope == admissionregistrationv1.NamespacedScope) == (e == Namespaced)
}
