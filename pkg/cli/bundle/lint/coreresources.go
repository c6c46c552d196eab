package lint

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// coreWrites are the subresources, "" for the object, that components of a cluster write and wait for.
// They connect to exec, log and proxy, read LimitRanges, and wait for no event; people use ephemeralcontainers.
var coreWrites = map[string]map[string][]string{
	"": {
		"pods":                   {"", "status", "binding", "eviction", "resize"}, // resize: autoscalers, as scale
		"bindings":               {""},                                            // of older schedulers
		"replicationcontrollers": {"", "status", "scale"},                         // make pods
		"serviceaccounts":        {"", "token"},                                   // a kubelet starts no pod without a token
		"secrets":                {""},
		"configmaps":             {""},
		"namespaces":             {"", "status", "finalize"},
		"nodes":                  {"", "status"},
		"services":               {"", "status"},
		"endpoints":              {""},
		"persistentvolumes":      {"", "status"},
		"persistentvolumeclaims": {"", "status"},
		"resourcequotas":         {"status"}, // where there is a quota, the API server counts each pod there before it takes it
	},
	"apps": {
		"deployments":  {"", "status", "scale"},
		"replicasets":  {"", "status", "scale"},
		"statefulsets": {"", "status", "scale"},
		"daemonsets":   {"", "status"},
	},
	"batch": {
		"jobs":     {"", "status"},
		"cronjobs": {"", "status"},
	},
	"coordination.k8s.io": {"leases": {""}}, // who leads, and which nodes live
	"discovery.k8s.io":    {"endpointslices": {""}},
	// A pod with a volume starts once that is attached.
	"storage.k8s.io": {"volumeattachments": {"", "status"}, "csinodes": {""}},
	// Kubelets get their certificates so.
	"certificates.k8s.io": {"certificatesigningrequests": {"", "approval", "status"}},
	// API servers that start write what their version brings of these; what is not written is not granted.
	"rbac.authorization.k8s.io": {"roles": {""}, "rolebindings": {""}, "clusterroles": {""}, "clusterrolebindings": {""}},
	// API servers register in these what they serve, and report whether it is: a definition without status is not.
	"apiextensions.k8s.io":   {"customresourcedefinitions": {"", "status"}},
	"apiregistration.k8s.io": {"apiservices": {"", "status"}},
	// Kubelets and API servers of others ask by these who calls them, and what he may do.
	"authentication.k8s.io": {"tokenreviews": {""}},
	"authorization.k8s.io":  {"subjectaccessreviews": {""}},
}

func isCore(group, resource, subresource string) bool {
	for known, subresources := range coreWrites[group] {
		if (resource == "*" || resource == known) && (subresource == "*" || slices.Contains(subresources, subresource)) {
			return true
		}
	}
	return false
}

func coreResources(rule admissionregistrationv1.RuleWithOperations) []string {
	var found []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			if name, subresource, _ := strings.Cut(resource, "/"); isCore(group, name, subresource) {
				found = append(found, strings.Trim(resource+"."+group, "."))
			}
		}
	}
	return found
}

// systemResources returns the resources that kube-system has objects of.
func systemResources(reach rules.Reach) []string {
	return slices.DeleteFunc(slices.Clone(reach.Namespaced), func(named string) bool {
		name, _, _ := strings.Cut(named, "/")
		resource := schema.ParseGroupResource(name)
		return !isCore(resource.Group, resource.Resource, "*")
	})
}
