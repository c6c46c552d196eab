package exemptions

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A matchCondition is a CEL expression. Each expression here is true for every request except the
// exempted ones. An API server calls a webhook only if all its matchConditions are true.
//
// An expression must not fail: a webhook with failurePolicy Fail would refuse the request. So each
// expression tests with has() whether a field exists before it reads the field. The object is null in
// a DELETE request; in a DELETECOLLECTION request both objects are null.

// MatchCondition returns the condition that excludes the requests from a webhook.
func (e Exemption) MatchCondition() admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{
		Name:       wellknown.AnnotationPrefix + e.Name,
		Expression: "!(" + strings.Join(slices.DeleteFunc([]string{e.where(), about(e.subjects), parenthesised(e.which), parenthesised(e.who)}, isEmpty), " && ") + ")",
	}
}

func isEmpty(text string) bool { return text == "" }

func parenthesised(expression string) string {
	if expression == "" {
		return ""
	}
	return "(" + expression + ")"
}

func (e Exemption) where() string {
	if len(e.namespaces) == 0 {
		return ""
	}
	return "has(request.namespace) && " + in("request.namespace", e.namespaces)
}

// Components of Kubernetes do not request subresources that an exemption does not need.
func about(subjects []subject) string {
	var groups []string
	resources := map[string][]string{}
	for _, s := range subjects {
		if !slices.Contains(groups, s.Group) {
			groups = append(groups, s.Group)
		}
		if !slices.Contains(resources[s.Group], s.Resource) {
			resources[s.Group] = append(resources[s.Group], s.Resource)
		}
	}
	alternatives := lists.Map(groups, func(group string) string {
		return "request.resource.group == " + strconv.Quote(group) + " && " + in("request.resource.resource", resources[group])
	})
	return parenthesised(anyOf(alternatives...))
}

// named is true for requests about objects with these names, including requests that create them.
func named(names []string) string {
	return "has(request.name) && " + in("request.name", names)
}

// The controlling owner has this kind and a name that matches the pattern.
func ownedBy(kind, pattern string) string {
	return showing(given("o.metadata.ownerReferences"),
		"o.metadata.ownerReferences.exists(r, has(r.controller) && r.controller && r.kind == "+strconv.Quote(kind)+" && r.name.matches("+strconv.Quote(pattern)+"))")
}

// showing is true for requests whose object or old object, named o, passes all tests.
func showing(tests ...string) string {
	return "[oldObject, object].exists(o, o != null && " + strings.Join(tests, " && ") + ")"
}

// given tests with has() that every field on a path exists.
func given(path string) string {
	var all []string
	fields := strings.Split(path, ".")
	for i := 2; i <= len(fields); i++ {
		all = append(all, "has("+strings.Join(fields[:i], ".")+")")
	}
	return strings.Join(all, " && ")
}

func fieldIn(path string, values ...string) string {
	return given(path) + " && " + in(path, values)
}

// Requests that bind or evict pods contain no pod, and so no owner.
func podSubresource(pattern string) string {
	return `(request.resource.resource == "bindings" || has(request.subResource) && request.subResource in ["binding", "eviction"]) && ` +
		"has(request.name) && request.name.matches(" + strconv.Quote(pattern) + ")"
}

func exactly(names []string) string { return "^(" + alternatives(names) + ")$" }

// The name of the Deployment and a hash.
func (b backend) replicaSetNames() string {
	return "^(" + alternatives(b.deployments) + ")-[a-z0-9]{1,10}$"
}

// The ReplicaSet controller truncates names to the maximum length of a host name.
func (b backend) podNames() string { return b.podNamesWith("") }

// podNamesWith returns the pattern for names of pods, followed by a suffix pattern.
func (b backend) podNamesWith(suffix string) string {
	const longestBase, hash = 58, len("-0123456789-")
	var whole, cut []string
	for _, name := range b.deployments {
		if len(name)+hash <= longestBase {
			whole = append(whole, name)
		} else {
			cut = append(cut, (name + "-")[:min(len(name)+1, longestBase)])
		}
	}
	var patterns []string
	if len(whole) > 0 {
		patterns = append(patterns, "^("+alternatives(whole)+")-[a-z0-9]{1,10}-[a-z0-9]{5}"+suffix+"$")
	}
	if len(cut) > 0 {
		patterns = append(patterns, "^("+alternatives(cut)+")[a-z0-9-]*$")
	}
	return strings.Join(patterns, "|")
}

func alternatives(names []string) string {
	return strings.Join(lists.Map(names, regexp.QuoteMeta), "|")
}

func userIn(users ...string) string {
	users = slices.DeleteFunc(users, isEmpty)
	if len(users) == 0 {
		return ""
	}
	return "has(request.userInfo.username) && " + in("request.userInfo.username", users)
}

// Controllers have one identity or separate ones.
var systemIdentities = anyOf(
	userIn(slices.Concat([]string{apiServer, controllerManager, scheduler}, controllerIdentities())...),
	groupIs("system:nodes"),
)

// User names of the control plane.
const (
	apiServer         = "system:apiserver"
	controllerManager = "system:kube-controller-manager"
	scheduler         = "system:kube-scheduler"
)

func controllerIdentities() []string {
	return lists.Map([]string{
		"attachdetach-controller", "certificate-controller", "daemon-set-controller", "deployment-controller", "device-taint-eviction-controller", "disruption-controller",
		"endpoint-controller", "endpointslice-controller", "ephemeral-volume-controller", "generic-garbage-collector", "horizontal-pod-autoscaler", "namespace-controller",
		"node-controller", "persistent-volume-binder", "pod-garbage-collector", "replicaset-controller", "resource-claim-controller", "resourcequota-controller",
		"root-ca-cert-publisher", "service-account-controller", "service-controller", "statefulset-controller", "taint-eviction-controller", "tokens-controller", "ttl-controller",
	}, controllerIdentity)
}

// kube-controller-manager runs with --use-service-account-credentials.
func controllerIdentity(name string) string { return serviceAccountPrefix + kubeSystem + ":" + name }

func groupIs(group string) string {
	return "has(request.userInfo.groups) && " + strconv.Quote(group) + " in request.userInfo.groups"
}

func in(field string, values []string) string {
	if len(values) == 1 {
		return field + " == " + strconv.Quote(values[0])
	}
	return field + " in [" + strings.Join(lists.Map(values, strconv.Quote), ", ") + "]"
}

// anyOf joins expressions with ||. Empty expressions are ignored.
func anyOf(expressions ...string) string {
	expressions = slices.DeleteFunc(slices.Clone(expressions), isEmpty)
	if len(expressions) == 1 {
		return expressions[0]
	}
	for i := range expressions {
		expressions[i] = parenthesised(expressions[i])
	}
	return strings.Join(expressions, " || ")
}
