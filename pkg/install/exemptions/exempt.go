package exemptions

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// The matchConditions of a webhook are written in CEL. Each of these says "not one of
// the requests of this exemption", and all of a webhook's conditions have to hold for it
// to be called.
//
// They are total: a field that a request does not have is asked for before it is read,
// since an expression that fails makes a webhook with failurePolicy Fail refuse. The
// object is null when something is deleted, and both objects are when a whole
// collection is.

// Condition exempts the requests of a exemption from a webhook.
func (l Exemption) Condition() admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{
		Name:       wellknown.AnnotationPrefix + l.Name,
		Expression: "!(" + strings.Join(slices.DeleteFunc([]string{l.where(), about(l.subjects), parenthesised(l.which), parenthesised(l.who)}, isEmpty), " && ") + ")",
	}
}

func isEmpty(text string) bool { return text == "" }

func parenthesised(expression string) string {
	if expression == "" {
		return ""
	}
	return "(" + expression + ")"
}

func (l Exemption) where() string {
	if len(l.namespaces) == 0 {
		return ""
	}
	return "has(request.namespace) && " + in("request.namespace", l.namespaces)
}

// about is true of the resources of the subjects and of all that is below them. What is
// below them and of no account to the exemption, system identities do not ask for.
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
	var alternatives []string
	for _, group := range groups {
		alternatives = append(alternatives, "request.resource.group == "+strconv.Quote(group)+" && "+in("request.resource.resource", resources[group]))
	}
	return parenthesised(anyOf(alternatives...))
}

// named is true of requests about objects of these names, if only to create them.
func named(names []string) string {
	return "has(request.name) && " + in("request.name", names)
}

// ownedBy is true of requests about objects that an object of this kind, whose name
// matches, controls.
func ownedBy(kind, pattern string) string {
	return showing(given("o.metadata.ownerReferences"),
		"o.metadata.ownerReferences.exists(r, has(r.controller) && r.controller && r.kind == "+strconv.Quote(kind)+" && r.name.matches("+strconv.Quote(pattern)+"))")
}

// showing is true of requests about an object o that passes all tests: that does, or that did.
func showing(tests ...string) string {
	return "[oldObject, object].exists(o, o != null && " + strings.Join(tests, " && ") + ")"
}

// given asks for each field on a path, from the object on.
func given(path string) string {
	var all []string
	fields := strings.Split(path, ".")
	for i := 2; i <= len(fields); i++ {
		all = append(all, "has("+strings.Join(fields[:i], ".")+")")
	}
	return strings.Join(all, " && ")
}

// fieldIn is true of objects whose field has one of the values.
func fieldIn(path string, values ...string) string {
	return given(path) + " && " + in(path, values)
}

// podSubresource is true of requests to bind or evict pods whose names match: those show
// no pod, and so no owner.
func podSubresource(pattern string) string {
	return `(request.resource.resource == "bindings" || has(request.subResource) && request.subResource in ["binding", "eviction"]) && ` +
		"has(request.name) && request.name.matches(" + strconv.Quote(pattern) + ")"
}

func exactly(names []string) string { return "^(" + alternatives(names) + ")$" }

// replicaSetNames is what the deployment controller calls ReplicaSets: by the name of
// the Deployment and a hash.
func (o own) replicaSetNames() string {
	return "^(" + alternatives(o.deployments) + ")-[a-z0-9]{1,10}$"
}

// podNames is what the replicaset controller calls pods. It cuts what is longer than a
// host name may be.
func (o own) podNames() string { return o.podNamesWith("") }

// podNamesWith are those names with something behind them, a pattern too.
func (o own) podNamesWith(suffix string) string {
	const longestBase, hash = 58, len("-0123456789-")
	var whole, cut []string
	for _, name := range o.deployments {
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
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, regexp.QuoteMeta(name))
	}
	return strings.Join(quoted, "|")
}

// userIn is true of requests by any of the users; empty without any.
func userIn(users ...string) string {
	users = slices.DeleteFunc(users, isEmpty)
	if len(users) == 0 {
		return ""
	}
	return "has(request.userInfo.username) && " + in("request.userInfo.username", users)
}

// systemIdentities is true of requests by what a cluster itself consists of: the API
// server, the controllers, whether they share one identity or have each their own, the
// scheduler, and the kubelets.
var systemIdentities = anyOf(
	userIn(slices.Concat([]string{apiServer, controllerManager, scheduler}, controllerIdentities())...),
	groupIs("system:nodes"),
)

// The names under which a cluster's components write.
const (
	apiServer         = "system:apiserver"
	controllerManager = "system:kube-controller-manager"
	scheduler         = "system:kube-scheduler"
)

func controllerIdentities() []string {
	var users []string
	for _, controller := range []string{
		"attachdetach-controller", "certificate-controller", "daemon-set-controller", "deployment-controller", "device-taint-eviction-controller", "disruption-controller",
		"endpoint-controller", "endpointslice-controller", "ephemeral-volume-controller", "generic-garbage-collector", "horizontal-pod-autoscaler", "namespace-controller",
		"node-controller", "persistent-volume-binder", "pod-garbage-collector", "replicaset-controller", "resource-claim-controller", "resourcequota-controller",
		"root-ca-cert-publisher", "service-account-controller", "service-controller", "statefulset-controller", "taint-eviction-controller", "tokens-controller", "ttl-controller",
	} {
		users = append(users, controllerIdentity(controller))
	}
	return users
}

// controllerIdentity is who a controller of kube-controller-manager is, where each has its own.
func controllerIdentity(name string) string { return serviceAccountPrefix + kubeSystem + ":" + name }

// groupIs is true of requests by members of a group.
func groupIs(group string) string {
	return "has(request.userInfo.groups) && " + strconv.Quote(group) + " in request.userInfo.groups"
}

func in(field string, values []string) string {
	if len(values) == 1 {
		return field + " == " + strconv.Quote(values[0])
	}
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, strconv.Quote(v))
	}
	return field + " in [" + strings.Join(quoted, ", ") + "]"
}

// anyOf joins expressions, of which empty ones say nothing.
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
