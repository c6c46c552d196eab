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

// ReservedGroup says why an operator must not own an APIService of a group, and what to do
// instead; both are empty when it may. Of a group that others serve it would add a version, and clients ask for the one that
// looks newest: so it could answer in place of the API server, or of the manager's own API.
func ReservedGroup(group string, services []*apiregistrationv1.APIService) (message, wayOut string) {
	builtIn := func(s *apiregistrationv1.APIService) bool {
		return s.Spec.Group == group && s.Labels[wellknown.LabelAutomanaged] == wellknown.AutomanagedBuiltIn
	}
	if !slices.Contains(protectedGroups, group) && !slices.ContainsFunc(services, builtIn) {
		return "", ""
	}
	return fmt.Sprintf("group %q is not for operators to serve", group), "name another one in spec.apiservicedefinitions.owned"
}

// ReservedAPI returns why a ClusterServiceVersion must not own its APIServices, and what to do
// instead; it is empty when it may own all of them.
func ReservedAPI(csv *operatorsv1alpha1.ClusterServiceVersion, services []*apiregistrationv1.APIService) string {
	for _, owned := range csv.Spec.APIServiceDefinitions.Owned {
		if message, wayOut := ReservedGroup(owned.Group, services); message != "" {
			return message + "; " + wayOut
		}
	}
	return ""
}

// KubernetesGroup returns why the manager does not register an APIService of a group that the
// Kubernetes project reserves for itself, and what to do instead; both are empty for any other
// group. Clients of such a group, such as the HorizontalPodAutoscaler's controller, trust what serves it.
func KubernetesGroup(group string) (message, wayOut string) {
	name := "." + fold(group)
	if strings.Count(name, ".") > 1 && !strings.HasSuffix(name, ".k8s.io") && !strings.HasSuffix(name, ".kubernetes.io") {
		return "", ""
	}
	return fmt.Sprintf("group %q is reserved for Kubernetes (*.k8s.io, *.kubernetes.io, names without a dot)", group),
		"name a group of your own domain in spec.apiservicedefinitions.owned, or have a cluster administrator create the APIService"
}

// OtherServers is what serves versions of API groups and does not belong to a ClusterServiceVersion.
type OtherServers struct {
	// APIServices returns the APIServices of a group that send requests to Services of other owners.
	APIServices func(group string) []*apiregistrationv1.APIService
	// CRDs returns the CustomResourceDefinitions of a group that have another owner, or none.
	CRDs func(group string) []*apiextensionsv1.CustomResourceDefinition
}

// OccupiedGroup returns why the manager registers no further version of a group, and what to do
// instead; it is empty when it may. Clients ask for the version that looks newest: a further one
// could answer in place of those that others serve.
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
