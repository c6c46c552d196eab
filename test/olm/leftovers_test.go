package olm

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// owned are the kinds of what an InstallPlan and the manager create for a version, apart from its definitions.
var owned = []schema.GroupVersionResource{
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "secrets"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
}

// leavesNothing waits until no object names a version of the Namespace as its owner.
func (e *env) leavesNothing() {
	e.Helper()
	e.eventually("nothing of the operator is left", func() (bool, any) {
		var left []string
		for _, resource := range owned {
			list, err := dynamicClient.Resource(resource).List(e.ctx, metav1.ListOptions{LabelSelector: ofVersionsIn(e.namespace)})
			e.must(err)
			for _, o := range list.Items {
				left = append(left, resource.Resource+" "+o.GetNamespace()+"/"+o.GetName())
			}
		}
		return len(left) == 0, left
	})
}

// ofVersionsIn selects what belongs to the ClusterServiceVersions of a Namespace.
func ofVersionsIn(namespace string) string {
	return "olm.owner.kind=ClusterServiceVersion,olm.owner.namespace=" + namespace
}
