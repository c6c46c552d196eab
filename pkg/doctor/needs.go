package doctor

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	guessed   bool // there may be other labels besides
}

var (
	pods           = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	accounts       = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	nodes          = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	leases         = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	endpointSlices = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}
)

// waysNow are the ways by which somebody answers behind a Service again, each as the requests
// that it takes: a pod that is there gets ready, or another one is made.
func waysNow(name types.NamespacedName, s Service) [][]request {
	ways := waysOnceLost(name, s)
	for _, p := range s.Pods {
		ways = append(ways, stepsLeft(name, s, p))
	}
	return ways
}

// waysOnceLost are those that are left when all pods are lost.
func waysOnceLost(name types.NamespacedName, s Service) [][]request {
	s.Ready = 0
	var ways [][]request
	for _, p := range s.successors() {
		making := request{operation: admission.Create, resource: pods, namespace: name.Namespace, labels: p.Labels, guessed: s.guessed()}
		ways = append(ways, append(stepsLeft(name, s, p), making))
	}
	return ways
}

// successors are the pods that would replace lost ones: as whatever makes them has them, or
// like those that are there, or, where there are neither, as the Service selects them.
func (s Service) successors() []Pod {
	var all []Pod
	for _, l := range s.Templates {
		all = append(all, Pod{Labels: l})
	}
	for _, p := range s.Pods {
		if len(s.Templates) == 0 {
			all = append(all, Pod{Labels: p.Labels})
		}
	}
	if s.guessed() {
		all = append(all, Pod{Labels: s.Selector})
	}
	return all
}

// guessed tells that of the successors no more is known than that the Service selects them.
func (s Service) guessed() bool { return len(s.Templates)+len(s.Pods) == 0 }

// stepsLeft are the requests that a pod still needs until it is called: the scheduler places
// it, the kubelet gets it a token and reports, and the endpoints follow.
//
// pkg/install lists more of them as lifelines, and has to. It exempts what some pod could
// need, in a namespace with a quota, with volumes, by whichever controller; too many are no
// harm there. Here each is said to keep a pod away, so it has to be one that every pod
// needs. A test holds that the lifelines cover these.
func stepsLeft(name types.NamespacedName, s Service, p Pod) []request {
	var left []request
	if !p.Placed {
		left = append(left, request{operation: admission.Create, resource: pods, sub: "binding", namespace: name.Namespace})
	}
	if !p.Started {
		left = append(left, request{operation: admission.Create, resource: accounts, sub: "token", namespace: name.Namespace})
	}
	if !p.Ready {
		left = append(left, request{operation: admission.Update, resource: pods, sub: "status", namespace: name.Namespace, labels: p.Labels, guessed: s.guessed()})
	}
	if s.Ready > 0 {
		return left
	}
	// Besides this label, a slice has those of the Service.
	slice := request{operation: admission.Update, resource: endpointSlices, namespace: name.Namespace, labels: map[string]string{discoveryv1.LabelServiceName: name.Name}, guessed: true}
	left = append(left, slice)
	if !s.Sliced {
		slice.operation = admission.Create
		left = append(left, slice)
	}
	return left
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

// matchesSurely tells whether a webhook is called for a request whatever is not known here:
// what its matchConditions say, and which labels a pod bears besides those of a selector.
func matchesSurely(w Webhook, r request, namespaces map[string]map[string]string) bool {
	return !w.Conditional && !(r.guessed && w.narrowed()) && matches(w, r, namespaces)
}

// narrowed tells whether labels of objects decide.
func (w Webhook) narrowed() bool {
	s := w.ObjectSelector
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

// selects is true for a selector that cannot be read: no API server has stored one.
func selects(s *metav1.LabelSelector, of map[string]string) bool {
	if s == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || selector.Matches(labels.Set(of))
}
