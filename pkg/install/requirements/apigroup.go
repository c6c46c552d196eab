package requirements

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// ReservedGroup returns why an operator must not own an APIService of a group, and the next step, or "":
// clients prefer the newest version, so it could replace the API server or the manager's own API. services
// are at least the APIServices of the group.
func ReservedGroup(group string, services []*apiregistrationv1.APIService) (message, wayOut string) {
	builtIn := func(s *apiregistrationv1.APIService) bool {
		return s.Spec.Group == group && s.Labels[wellknown.LabelAutomanaged] == wellknown.AutomanagedBuiltIn
	}
	if !slices.Contains(protectedGroups, group) && !slices.ContainsFunc(services, builtIn) {
		return "", ""
	}
	return fmt.Sprintf("group %q is not for operators to serve", group), "name another one in spec.apiservicedefinitions.owned"
}

// ReservedAPI returns why a CSV must not own its APIServices, with the next step, or "".
func ReservedAPI(csv *operatorsv1alpha1.ClusterServiceVersion, servicesOf func(group string) []*apiregistrationv1.APIService) string {
	for _, owned := range csv.Spec.APIServiceDefinitions.Owned {
		if message, wayOut := ReservedGroup(owned.Group, servicesOf(owned.Group)); message != "" {
			return message + "; " + wayOut
		}
	}
	return ""
}

// KubernetesGroup returns why a group is reserved for Kubernetes, and the next step, or "". Controllers such
// as the HorizontalPodAutoscaler trust the server of such a group.
func KubernetesGroup(group string) (message, wayOut string) {
	name := "." + fold(group)
	if strings.Count(name, ".") > 1 && !strings.HasSuffix(name, ".k8s.io") && !strings.HasSuffix(name, ".kubernetes.io") {
		return "", ""
	}
	return fmt.Sprintf("group %q is reserved for Kubernetes (*.k8s.io, *.kubernetes.io, names without a dot)", group),
		"name a group of your own domain in spec.apiservicedefinitions.owned, or have a cluster administrator create the APIService"
}

// OtherServers are the servers of API groups that do not belong to a CSV.
type OtherServers struct {
	// APIServices returns the APIServices of a group that call Services of other owners.
	APIServices func(group string) []*apiregistrationv1.APIService
	// CRDs returns the CRDs of a group with another owner or without an owner.
	CRDs func(group string) []*apiextensionsv1.CustomResourceDefinition
}

// OccupiedGroup returns why another version of a group is not registered, with the next step, or "": clients
// prefer the newest version, which could replace those of another owner.
func OccupiedGroup(group string, others OtherServers) string {
	if message, wayOut := KubernetesGroup(group); message != "" {
		return message + "; " + wayOut
	}
	const wayOut = "name another group in spec.apiservicedefinitions.owned"
	for _, s := range others.APIServices(group) {
		return fmt.Sprintf("group %q of spec.apiservicedefinitions.owned is served by APIService %s, which sends requests to Service %s/%s of another owner: %s, or delete that APIService first",
			group, s.Name, s.Spec.Service.Namespace, s.Spec.Service.Name, wayOut)
	}
	for _, crd := range others.CRDs(group) {
		return fmt.Sprintf("group %q of spec.apiservicedefinitions.owned is served by CustomResourceDefinition %s: %s, "+
			"or, if no other operator owns that definition, list it in spec.customresourcedefinitions.owned", group, crd.Name, wayOut)
	}
	return ""
}
