package doctor

import (
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

type request struct {
	operation admission.Operation
	resource  schema.GroupVersionResource
	sub       string
	namespace string
	labels    objectLabels // of the object that is written
}

var (
	pods           = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	accounts       = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	nodes          = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	leases         = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	endpointSlices = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
)

// recoveryPathsNow returns the ways to a ready endpoint: an existing pod becomes ready, or another one is created. A
// pod that may not be read may become ready without a request that webhooks intercept.
func recoveryPathsNow(name types.NamespacedName, s Service) [][]request {
	paths := recoveryPathsAfterLoss(name, s)
	if s.PodsUnread() {
		paths = append(paths, nil)
	}
	for _, p := range s.Pods {
		paths = append(paths, remainingRequests(name, s, p))
	}
	return paths
}

func recoveryPathsAfterLoss(name types.NamespacedName, s Service) [][]request {
	s.Ready = 0
	var paths [][]request
	for _, p := range s.successors() {
		making := request{operation: admission.Create, resource: pods, namespace: name.Namespace, labels: s.labelsOf(p)}
		paths = append(paths, append(remainingRequests(name, s, p), making))
	}
	return paths
}

// successors have the labels of the owners' pod templates, else the labels of the pods, else the selected ones.
func (s Service) successors() []Pod {
	switch {
	case len(s.Templates) > 0:
		return lists.Map(s.Templates, func(l map[string]string) Pod { return Pod{Labels: l} })
	case len(s.Pods) > 0:
		return lists.Map(s.Pods, func(p Pod) Pod { return Pod{Labels: p.Labels} })
	default:
		return []Pod{{Labels: s.Selector}}
	}
}

// podsUnknown reports whether only the selector of the Service is known of the successors.
func (s Service) podsUnknown() bool { return len(s.Templates)+len(s.Pods) == 0 }

func (s Service) labelsOf(p Pod) objectLabels {
	if s.podsUnknown() {
		return someLabels(p.Labels)
	}
	return allLabels(p.Labels)
}

// remainingRequests are the requests that a pod still needs until it is called. pkg/install exempts more, which only
// some pods need. Here each has to be one that every pod needs. A test checks that the exempted requests cover these.
func remainingRequests(name types.NamespacedName, s Service, p Pod) []request {
	var left []request
	if !p.Placed {
		left = append(left, request{operation: admission.Create, resource: pods, sub: "binding", namespace: name.Namespace, labels: unlabelled})
	}
	if !p.Started {
		left = append(left, request{operation: admission.Create, resource: accounts, sub: "token", namespace: name.Namespace, labels: unlabelled})
	}
	if !p.Ready {
		left = append(left, request{operation: admission.Update, resource: pods, sub: "status", namespace: name.Namespace, labels: s.labelsOf(p)})
	}
	if s.Ready > 0 {
		return left
	}
	slice := request{operation: admission.Update, resource: endpointSlices, namespace: name.Namespace, labels: s.sliceLabels(name)}
	left = append(left, slice)
	if len(s.Slices) == 0 {
		slice.operation = admission.Create
		left = append(left, slice)
	}
	return left
}

// sliceLabels are the labels that all slices have, or those with which the EndpointSlice controller creates one.
func (s Service) sliceLabels(name types.NamespacedName) objectLabels {
	if len(s.Slices) == 0 {
		created := map[string]string{discoveryv1.LabelServiceName: name.Name, discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}
		maps.Copy(created, s.Labels)
		return allLabels(created)
	}
	first, others := s.Slices[0], s.Slices[1:]
	if !slices.ContainsFunc(others, func(l map[string]string) bool { return !maps.Equal(l, first) }) {
		return allLabels(first)
	}
	common := maps.Clone(first)
	maps.DeleteFunc(common, func(key, value string) bool {
		return slices.ContainsFunc(others, func(l map[string]string) bool { return l[key] != value })
	})
	return someLabels(common)
}

// controlPlaneNeeds are the requests without which nothing is scheduled or run, for each set of labels.
func controlPlaneNeeds(c ControlPlane) []request {
	var needs []request
	for _, namespace := range []string{metav1.NamespaceSystem, corev1.NamespaceNodeLease} {
		for _, l := range labelsIn(c.Leases[namespace]) {
			needs = append(needs, request{operation: admission.Update, resource: leases, namespace: namespace, labels: l})
		}
	}
	for _, l := range labelsIn(c.Nodes) {
		needs = append(needs, request{operation: admission.Update, resource: nodes, sub: "status", labels: l})
	}
	return needs
}

// labelsIn returns unknown labels for objects that do not exist, or may not be listed.
func labelsIn(listed []map[string]string) []objectLabels {
	if len(listed) == 0 {
		return []objectLabels{{}}
	}
	return lists.Map(listed, allLabels)
}

// matches returns at most perhaps for a webhook with matchConditions.
func matches(w Webhook, r request, namespaces map[string]map[string]string) certainty {
	called := selects(w.ObjectSelector, r.labels)
	// Objects that are in no namespace, and are none, escape the selector.
	if r.namespace != "" {
		called = min(called, selects(w.NamespaceSelector, allLabels(namespaces[r.namespace])))
	}
	if w.Conditional {
		called = min(called, perhaps)
	}
	if called == no || !hasMatchingRule(w, r) {
		return no
	}
	return called
}

func hasMatchingRule(w Webhook, r request) bool {
	attributes := admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, r.namespace, "", r.resource, r.sub, r.operation, nil, false, nil)
	return slices.ContainsFunc(w.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		matcher := rules.Matcher{Rule: rule, Attr: attributes}
		return matcher.Matches()
	})
}
