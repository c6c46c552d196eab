package doctor

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
)

// request is one that has to go through for something to run.
type request struct {
	operation admission.Operation
	resource  schema.GroupVersionResource
	sub       string
	namespace string
	labels    map[string]string
}

var (
	pods           = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	accounts       = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	nodes          = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	leases         = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	endpointSlices = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
)

// needs are the requests by which a pod that was lost comes back and is called: its
// controller makes it, the scheduler places it, the kubelet gets it a token and reports,
// and the endpoints follow.
func needs(namespace, service string, p Pod) []request {
	slice := map[string]string{"kubernetes.io/service-name": service}
	return []request{
		{admission.Create, pods, "", namespace, p.Labels},
		{admission.Create, pods, "binding", namespace, nil},
		{admission.Create, accounts, "token", namespace, nil},
		{admission.Update, pods, "status", namespace, p.Labels},
		{admission.Create, endpointSlices, "", namespace, slice},
		{admission.Update, endpointSlices, "", namespace, slice},
	}
}

// clusterNeeds are those without which nothing is scheduled or run any more, anywhere.
var clusterNeeds = []request{
	{operation: admission.Update, resource: leases, namespace: metav1.NamespaceSystem},
	{operation: admission.Update, resource: leases, namespace: "kube-node-lease"},
	{operation: admission.Update, resource: nodes, sub: "status"},
}

// matches tells whether a webhook is called for a request.
func matches(w Webhook, r request, namespaces map[string]map[string]string) bool {
	if !selects(w.ObjectSelector, r.labels) {
		return false
	}
	// Objects that are in no namespace, and are none, escape the selector.
	if r.namespace != "" && !selects(w.NamespaceSelector, namespaces[r.namespace]) {
		return false
	}
	attributes := admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, r.namespace, "", r.resource, r.sub, r.operation, nil, false, nil)
	for _, rule := range w.Rules {
		matcher := rules.Matcher{Rule: rule, Attr: attributes}
		if matcher.Matches() {
			return true
		}
	}
	return false
}

// selects is true for a selector that cannot be read: no API server has stored one.
func selects(s *metav1.LabelSelector, of map[string]string) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || selector.Matches(labels.Set(of))
}
