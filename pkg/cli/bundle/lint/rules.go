package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

var ruleChecks = []Check{
	{
		Code: "forbidden-rule", Level: Error, Basis: Refused,
		Explain: `A webhook that can refuse changes of webhook configurations, or of objects
of OLM and this manager, can refuse its own repair. Therefore this manager and OLM v0 set the
ClusterServiceVersion to Failed/InvalidWebhookDescription. OLM compares only the names of kinds. The
manager also compares plurals, subresources and */*, in any case, and also the rules of conversion
webhooks, where they have no effect. Name only the groups and resources that the webhook needs.`,
		find: eachRule((*subject).webhooks, func(_ *subject, _ webhook, rule admissionregistrationv1.RuleWithOperations, report reporter) {
			if message, remedy := requirements.Forbidden(rule); message != "" {
				report("", "the ClusterServiceVersion is Failed/InvalidWebhookDescription: "+message, remedy)
			}
		}),
	},
	{
		Code: "rule-incomplete", Level: Error, Basis: Rejected,
		Explain: `A rule has at least one API group ("" for the core group), one API
version, one resource and one operation. Only the name of a group may be empty. "*" and "*/*" are
the only entry of their list. "pods/status" must not follow "pods/*" or "*/status". Next to "*", no
other resource without subresource is allowed. The API server refuses the registration otherwise.`,
		find: eachRule((*subject).admission, incompleteRule),
	},
	{
		Code: "no-rules", Level: Warning, Basis: Broken,
		Explain: `A webhook without rules is registered and never called: it neither refuses
nor changes a request. Add its rules.`,
		find: eachWebhook((*subject).admission, func(w webhook, report reporter) {
			if len(w.Rules) == 0 {
				report("", "the webhook is registered and never called: it has no rules", "name what it intercepts, or remove it")
			}
		}),
	},
	{
		Code: "rule-matches-nothing", Level: Warning, Basis: Broken,
		Explain: `API servers compare the names in a rule with the group, version and plural
of a request. A rule with a kind (Namespace) or a singular (namespace) instead of the plural
(namespaces), with a misspelled group, or with a version that is not served is accepted, and matches
no request. The check knows the APIs of Kubernetes and of the bundle. In groups of other operators,
it finds only names that no API can have. In a cluster, the manager compares the rules with the
served APIs, and reports rules that match nothing in condition RulesMatchNothing of the
WebhookRollout.`,
		find: unmatchedRules,
	},
	{
		Code: "scope-escapes", Level: Warning, Basis: Broken,
		Explain: `If the bundle is installed for some namespaces only, the webhook gets a
namespaceSelector. The selector does not limit cluster-scoped objects: the webhook intercepts all of
them in the whole cluster. Two such installations are both called for each of these objects. For
Namespaces see namespaces-unlabelled. Support only AllNamespaces, or remove these resources from the
rule.`,
		find: eachRule((*subject).admission, func(s *subject, _ webhook, rule admissionregistrationv1.RuleWithOperations, report reporter) {
			reach, modes := rules.ReachOf(rule, s.CRDs()...), requirements.NarrowerModes(s.CSV)
			if len(reach.Escaping) > 0 && len(modes) > 0 {
				report("resources", fmt.Sprintf("installed for some namespaces (%s), the webhook still intercepts %s of the whole cluster: a namespaceSelector does not limit them",
					strings.Join(modes, ", "), strings.Join(reach.Escaping, ", ")), "support AllNamespaces only, or leave them out of the rule")
			}
		}),
	},
	{
		Code: "namespaces-unlabelled", Level: Warning, Basis: Broken,
		Explain: `If the bundle is installed for some namespaces only, the webhook gets a
namespaceSelector. For a request that creates or changes a Namespace, the API server compares the
selector with the labels in the request. The manager labels the namespaces of an OperatorGroup after
their creation. So the webhook is not called when they are created, nor for Namespaces outside the
OperatorGroup. It is called for a new Namespace only if the request has the labels that the
OperatorGroup selects. Support only AllNamespaces, remove CREATE from the operations, or let a
controller check existing Namespaces.`,
		find: eachRule((*subject).admission, func(s *subject, _ webhook, rule admissionregistrationv1.RuleWithOperations, report reporter) {
			modes := requirements.NarrowerModes(s.CSV)
			if createsNamespaces(rule) && len(modes) > 0 {
				report("resources", fmt.Sprintf("installed for some namespaces (%s), the webhook is not called when a Namespace is created, unless with the labels by which its OperatorGroup selects",
					strings.Join(modes, ", ")), "support AllNamespaces only, or leave out the creation of Namespaces")
			}
		}),
	},
	{
		Code: "self-deadlock", Level: Warning, Basis: UnderOLM,
		Explain: `While no server answers, a webhook with failurePolicy Fail refuses the
requests that it intercepts. If its own server needs these requests to start (pods, ReplicaSets,
leases of nodes, the manager's objects), it stays down until an administrator deletes the
registration. OLM v0 registers such webhooks unchanged. This manager exempts only those requests, by
matchConditions. A webhook with narrow rules needs no exemptions, and also works under OLM v0.`,
		find: selfDeadlocks,
	},
	{
		Code: "wildcard-rule", Level: Warning, Basis: Policy,
		Explain: `With "*" in resources or API versions, the webhook is called for all
current and future resources of the group. These include leases, which are written many times a
second, and objects that its server cannot decode. "*/*" adds all subresources, "*/status" the
status of each resource. With "*" in operations, the webhook is also called for CONNECT (exec,
proxy) and DELETE, where the object is in oldObject. Name the resources, versions and operations
that the webhook handles.`,
		find: eachRule((*subject).admission, wildcards),
	},
	{
		Code: "fail-on-core", Level: Warning, Basis: Policy,
		Explain: `With failurePolicy Fail, no client can create or change the named objects
while the webhook does not answer. Controllers are clients, too. Without pods, nothing is scheduled.
Without tokens of ServiceAccounts, no pod starts. Without the status of a ResourceQuota, its
namespace gets no pods. Without namespaces and nodes, the cluster cannot grow or shrink. Kubelets
need CertificateSigningRequests, TokenReviews and SubjectAccessReviews. API servers write roles,
APIServices and the status of definitions. Run at least two replicas with a PodDisruptionBudget,
keep the timeout short, and limit the webhook by an objectSelector; or use Ignore, and let a
controller repair objects that were not reviewed.`,
		find: eachRule((*subject).admission, func(_ *subject, w webhook, rule admissionregistrationv1.RuleWithOperations, report reporter) {
			found := coreResources(rule)
			if !failsOpen(w) && !hasObjectSelector(w) && len(found) > 0 {
				report("resources", fmt.Sprintf("while the webhook does not answer, no client can write %s: failurePolicy is Fail", strings.Join(found, ", ")), "narrow it by an objectSelector, or take failurePolicy Ignore")
			}
		}),
	},
	{
		Code: "kube-system-covered", Level: Warning, Basis: Policy,
		Explain: `If the bundle is installed for all namespaces, the webhook also intercepts
the objects of kube-system. These include the network and DNS that its own server needs. A
description has no namespaceSelector, and an objectSelector selects only by labels of the objects.
Let the operator label the objects that the webhook is for, and select that label; or let its server
allow kube-system, and use failurePolicy Ignore.`,
		find: eachRule((*subject).admission, func(s *subject, w webhook, rule admissionregistrationv1.RuleWithOperations, report reporter) {
			covered := systemResources(rules.ReachOf(rule, s.CRDs()...))
			if !failsOpen(w) && len(covered) > 0 && !hasObjectSelector(w) && s.Supports(operatorsv1alpha1.InstallModeTypeAllNamespaces) {
				report("resources", fmt.Sprintf("while the webhook does not answer, the %s of kube-system cannot be written either", strings.Join(covered, ", ")), "select by an objectSelector what the webhook is for")
			}
		}),
	},
}

func eachRule(which func(*subject) []webhook, check func(*subject, webhook, admissionregistrationv1.RuleWithOperations, reporter)) func(*subject) {
	return func(s *subject) {
		for _, w := range which(s) {
			for i, rule := range w.Rules {
				check(s, w, rule, s.below(fmt.Sprintf("%s.rules[%d]", w.path, i)))
			}
		}
	}
}

func wildcards(_ *subject, _ webhook, rule admissionregistrationv1.RuleWithOperations, report reporter) {
	groups := groupNames(rule.APIGroups)
	everything := ""
	if slices.Contains(rule.Resources, "*/*") {
		everything = "every resource and every subresource"
	} else if slices.Contains(rule.Resources, "*") {
		everything = "every resource"
	}
	if everything != "" {
		report("resources", fmt.Sprintf("the webhook is called for %s of %s, also for resources of newer versions", everything, groups), "name the resources that it handles")
	}
	wildcardSubresources(rule, report)
	if slices.Contains(rule.APIVersions, "*") {
		report("apiVersions", fmt.Sprintf("the webhook is called with every version of %s, also with versions that its server does not know yet", groups),
			"name the versions that it decodes: with matchPolicy Equivalent, the default, the API server converts others to them")
	}
	if slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
		report("operations", "the webhook is called for every operation, also to delete and to connect", "name the operations that it handles")
	}
}

func wildcardSubresources(rule admissionregistrationv1.RuleWithOperations, report reporter) {
	var ofEvery, every []string
	for _, resource := range rule.Resources {
		if subresource, found := strings.CutPrefix(resource, "*/"); found && subresource != "*" {
			ofEvery = append(ofEvery, subresource)
		}
		if name, found := strings.CutSuffix(resource, "/*"); found && !strings.HasPrefix(name, "*") {
			every = append(every, name)
		}
	}
	if len(ofEvery) > 0 {
		report("resources", fmt.Sprintf("the webhook is called for the subresource %s of every resource of %s that has it, also for resources of newer versions", strings.Join(ofEvery, " and "), groupNames(rule.APIGroups)), "name the resources whose subresource it handles")
	}
	if len(every) > 0 {
		report("resources", fmt.Sprintf("the webhook is called for %s and every subresource, also for resources of newer versions", every[0]), "name the subresources that it handles")
	}
}

func createsNamespaces(rule admissionregistrationv1.RuleWithOperations) bool {
	return rules.ReachOf(rule).Namespaces &&
		sets.New(rule.Operations...).HasAny(admissionregistrationv1.Create, admissionregistrationv1.OperationAll) &&
		sets.New(rule.Resources...).HasAny("namespaces", "namespaces/*", "*", "*/*")
}

func selfDeadlocks(s *subject) {
	for _, w := range s.admission() {
		if hasObjectSelector(w) && !s.selectsItself(w) {
			continue
		}
		cut := lists.Distinct(lists.Map(s.exempted(w.WebhookDescription), func(e exemptions.Exemption) string { return e.What }))
		if len(cut) > 0 {
			s.reportCSV(w.path+".rules", fmt.Sprintf("while the webhook does not answer it refuses %s, so that under OLM v0 it stays down permanently; this manager exempts those requests", strings.Join(cut, ", ")),
				"leave them out of the rules, select by an objectSelector what the webhook is for, or take failurePolicy Ignore")
		}
	}
}

func failsOpen(w webhook) bool {
	return w.FailurePolicy != nil && *w.FailurePolicy == admissionregistrationv1.Ignore
}

// hasObjectSelector reports whether a webhook requires a label, which the cluster's own components lack.
func hasObjectSelector(w webhook) bool {
	selector := ptr.Deref(w.ObjectSelector, metav1.LabelSelector{})
	return len(selector.MatchLabels) > 0 || slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpExists
	})
}

func (s *subject) selectsItself(w webhook) bool {
	selector, err := metav1.LabelSelectorAsSelector(w.ObjectSelector)
	return err == nil && slices.ContainsFunc(s.deployments, func(d deployment) bool { return selector.Matches(labels.Set(d.Spec.Template.Labels)) })
}

func groupNames(names []string) string {
	return strings.Join(lists.Map(names, func(name string) string { return cmp.Or(name, "the core group") }), ", ")
}
