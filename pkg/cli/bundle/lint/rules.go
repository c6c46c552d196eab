package lint

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// ruleChecks are about what the webhooks intercept.
var ruleChecks = []Check{
	{
		Code: "forbidden-rule", Level: Error, Basis: Refused,
		Explain: `A webhook that can refuse changes to webhook configurations, or to the objects of OLM and of this manager, can refuse its own repair: the cluster could not be repaired
any more. With such a rule the manager, like OLM v0, sets the ClusterServiceVersion to Failed/InvalidWebhookDescription. OLM compares the names of kinds; the
manager also plurals, subresources and */*, regardless of their case, of conversion webhooks, too, where rules mean nothing. Name the groups and resources that the webhook is for.`,
		find: eachRule((*subject).webhooks, func(_ *subject, _ webhook, rule admissionregistrationv1.RuleWithOperations) (string, string, string) {
			message, remedy := requirements.Forbidden(rule)
			if message == "" {
				return "", "", ""
			}
			return "", "the ClusterServiceVersion is Failed/InvalidWebhookDescription: " + message, remedy
		}),
	},
	{
		Code: "rule-incomplete", Level: Error, Basis: Rejected,
		Explain: `A rule has at least one API group ("" for the core group), one API version, one resource and one operation, and their names are not empty. "*" stands alone in its list,
and so does "*/*"; behind "pods/*" or "*/status" no "pods/status" follows, and next to "*" no other resource without subresource. The API server refuses the registration otherwise.`,
		find: eachRule((*subject).admission, incompleteRule),
	},
	{
		Code: "no-rules", Level: Warning, Basis: Broken,
		Explain: `A webhook without rules is registered, and is never called: it refuses and changes no request. Add the rules that it is for.`,
		find: eachWebhook((*subject).admission, func(w webhook) (string, string, string) {
			if len(w.Rules) > 0 {
				return "", "", ""
			}
			return "", "the webhook is registered and never called: it has no rules", "say what it intercepts, or remove it"
		}),
	},
	{
		Code: "rule-matches-nothing", Level: Warning, Basis: Broken,
		Explain: `API servers compare the names in a rule with the group, version and plural of a request. A rule that names a kind (Namespace) or a singular (namespace) in place of
the plural (namespaces), misspells a group, or names a version that is not served, is accepted, and matches no request. The check knows the APIs of Kubernetes and the APIs that the
bundle brings. A rule may also name what another operator serves: of that only names which no API can have are found. In a cluster, the manager compares the rules with what the API server serves,
and reports in condition RulesMatchNothing of the WebhookRollout the rules that match nothing.`,
		find: unmatchedRules,
	},
	{
		Code: "scope-escapes", Level: Warning, Basis: Broken,
		Explain: `The bundle may be installed for some namespaces only, and the webhook then gets a namespaceSelector of theirs. That selector limits what lives in namespaces:
cluster-scoped objects are intercepted in the whole cluster, independent of their owner. Two such installations are both called for all of them. Namespaces are no such objects, see
namespaces-unlabelled. Support AllNamespaces only, or leave these resources out of the rule.`,
		find: eachRule((*subject).admission, func(s *subject, _ webhook, rule admissionregistrationv1.RuleWithOperations) (string, string, string) {
			reach, modes := rules.ReachOf(rule, s.CRDs()...), narrowModes(s)
			if len(reach.Escaping) == 0 || len(modes) == 0 {
				return "", "", ""
			}
			return "resources", fmt.Sprintf("installed for some namespaces (%s), the webhook still intercepts %s of the whole cluster: a namespaceSelector does not limit them",
				strings.Join(modes, ", "), strings.Join(reach.Escaping, ", ")), "support AllNamespaces only, or leave them out of the rule"
		}),
	},
	{
		Code: "namespaces-unlabelled", Level: Warning, Basis: Broken,
		Explain: `The bundle may be installed for some namespaces only, and the webhook then gets a namespaceSelector of theirs. For a Namespace that is created or changed, the API server
holds it against the labels that the request gives it. An OperatorGroup of named namespaces has them labelled by the manager once they are there, so their creation passes the webhook
by, and so do all changes of Namespaces that the group does not cover; only what is created with the labels by which the group selects is reviewed. Support AllNamespaces only,
leave CREATE out of the operations, or have a controller look at the Namespaces that there are.`,
		find: eachRule((*subject).admission, func(s *subject, _ webhook, rule admissionregistrationv1.RuleWithOperations) (string, string, string) {
			modes := narrowModes(s)
			if !createsNamespaces(rule) || len(modes) == 0 {
				return "", "", ""
			}
			return "resources", fmt.Sprintf("installed for some namespaces (%s), the webhook is not called when a Namespace is created, unless with the labels by which its OperatorGroup selects",
				strings.Join(modes, ", ")), "support AllNamespaces only, or leave out the creation of Namespaces"
		}),
	},
	{
		Code: "self-deadlock", Level: Warning, Basis: UnderOLM,
		Explain: `While no server answers, a webhook with failurePolicy Fail refuses what it intercepts. If that is what would bring its server back - its own pods and
ReplicaSets, the leases of the nodes, the manager's objects - it stays down until an administrator deletes the registration. OLM v0 registers such webhooks as they
are. This manager exempts those requests, and no others, by matchConditions; still a webhook that names what it is for needs no exemptions, and works under OLM v0 too.`,
		find: selfDeadlocks,
	},
	{
		Code: "wildcard-rule", Level: Warning, Basis: Policy,
		Explain: `With "*" for resources or API versions the webhook is called for all there is and will be in the group, among it leases, which are written many times a
second, and objects that its server cannot decode; with "*/*" for their subresources as well, with "*/status" for the status of each. With "*" for operations it is called to connect
(exec, proxy) as well, and to delete, where the object under review is the old one. Name what it handles.`,
		find: eachWildcard,
	},
	{
		Code: "fail-on-core", Level: Warning, Basis: Policy,
		Explain: `With failurePolicy Fail the cluster depends on the webhook: while it does not answer, the objects named cannot be created or changed by any client, controllers
included. For pods that means that no new pod is scheduled, for tokens of ServiceAccounts that no pod starts, for the status of ResourceQuotas that none is taken where there is one,
for namespaces and nodes that the cluster can neither grow nor shrink. Kubelets get certificates by CertificateSigningRequests, and ask by TokenReviews and SubjectAccessReviews who
calls them; API servers themselves write the roles that their version brings, APIServices, and the status without which a definition is not served. Run at least two replicas with a
PodDisruptionBudget, keep the timeout short, limit the webhook by an objectSelector to what it is for, or take Ignore and let a controller repair what slipped through.`,
		find: eachRule((*subject).admission, func(_ *subject, w webhook, rule admissionregistrationv1.RuleWithOperations) (string, string, string) {
			found := coreResources(rule)
			if failsOpen(w) || hasObjectSelector(w) || len(found) == 0 {
				return "", "", ""
			}
			return "resources", fmt.Sprintf("while the webhook does not answer, no client can write %s: failurePolicy is Fail", strings.Join(found, ", ")), "narrow it by an objectSelector, or take failurePolicy Ignore"
		}),
	},
	{
		Code: "kube-system-covered", Level: Warning, Basis: Policy,
		Explain: `The bundle can be installed for all namespaces, and then the webhook intercepts what the cluster itself consists of: the pods and Deployments in kube-system,
among them the network and DNS that its own server needs. A description has no namespaceSelector; but the API server sets the label kubernetes.io/metadata.name on Namespaces
alone, so an objectSelector can only go by labels of the objects. Let the operator label what the webhook is for and select that, or let its server allow kube-system and take
failurePolicy Ignore.`,
		find: eachRule((*subject).admission, func(s *subject, w webhook, rule admissionregistrationv1.RuleWithOperations) (string, string, string) {
			covered := systemResources(rules.ReachOf(rule, s.CRDs()...))
			if failsOpen(w) || len(covered) == 0 || hasObjectSelector(w) || !s.Supports(operatorsv1alpha1.InstallModeTypeAllNamespaces) {
				return "", "", ""
			}
			return "resources", fmt.Sprintf("while the webhook does not answer, the %s of kube-system cannot be written either", strings.Join(covered, ", ")), "select by an objectSelector what the webhook is for"
		}),
	},
}

func eachRule(which func(*subject) []webhook, check func(*subject, webhook, admissionregistrationv1.RuleWithOperations) (field, what, remedy string)) func(*subject) []mistake {
	return func(s *subject) []mistake {
		var all []mistake
		for _, w := range which(s) {
			for i, rule := range w.Rules {
				if field, what, remedy := check(s, w, rule); what != "" {
					path := strings.TrimSuffix(fmt.Sprintf("%s.rules[%d].%s", w.path, i, field), ".")
					all = append(all, s.inCSV(path, what, remedy))
				}
			}
		}
		return all
	}
}

// wildcards are the lists of a rule that may name everything, and what is then said.
var wildcards = []struct {
	field  string
	what   func(admissionregistrationv1.RuleWithOperations) string // empty where the list names what it means
	remedy string
}{
	{"resources", everyResource, "name the resources that it handles"},
	{"resources", subresourceOfEvery, "name the resources whose subresource it handles"},
	{"resources", everySubresource, "name the subresources that it handles"},
	{"apiVersions", everyVersion, "name the versions that it decodes: with matchPolicy Equivalent, the default, the API server converts others to them"},
	{"operations", everyOperation, "name the operations that it handles"},
}

func everyResource(rule admissionregistrationv1.RuleWithOperations) string {
	var everything string
	switch {
	case slices.Contains(rule.Resources, "*/*"):
		everything = "every resource and every subresource"
	case slices.Contains(rule.Resources, "*"):
		everything = "every resource"
	default:
		return ""
	}
	return fmt.Sprintf("the webhook is called for %s of %s, also for resources of newer versions", everything, groupNames(rule.APIGroups))
}

func subresourceOfEvery(rule admissionregistrationv1.RuleWithOperations) string {
	var named []string
	for _, resource := range rule.Resources {
		if name, every := strings.CutPrefix(resource, "*/"); every && name != "*" {
			named = append(named, name)
		}
	}
	if len(named) == 0 {
		return ""
	}
	return fmt.Sprintf("the webhook is called for the subresource %s of every resource of %s that has it, also for resources of newer versions", strings.Join(named, " and "), groupNames(rule.APIGroups))
}

func everySubresource(rule admissionregistrationv1.RuleWithOperations) string {
	for _, resource := range rule.Resources {
		if name, every := strings.CutSuffix(resource, "/*"); every && !strings.HasPrefix(name, "*") {
			return fmt.Sprintf("the webhook is called for %s and every subresource, also for resources of newer versions", name)
		}
	}
	return ""
}

func everyVersion(rule admissionregistrationv1.RuleWithOperations) string {
	if !slices.Contains(rule.APIVersions, "*") {
		return ""
	}
	return fmt.Sprintf("the webhook is called with every version of %s, also with versions that its server does not know yet", groupNames(rule.APIGroups))
}

func everyOperation(rule admissionregistrationv1.RuleWithOperations) string {
	if !slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
		return ""
	}
	return "the webhook is called for every operation, also to delete and to connect"
}

// eachWildcard finds the lists of rules that name everything: several may be of one rule.
func eachWildcard(s *subject) []mistake {
	var all []mistake
	for _, w := range wildcards {
		find := eachRule((*subject).admission, func(_ *subject, _ webhook, rule admissionregistrationv1.RuleWithOperations) (string, string, string) {
			return w.field, w.what(rule), w.remedy
		})
		all = append(all, find(s)...)
	}
	return all
}

func createsNamespaces(rule admissionregistrationv1.RuleWithOperations) bool {
	if !rules.ReachOf(rule).Namespaces {
		return false
	}
	creates := func(o admissionregistrationv1.OperationType) bool {
		return o == admissionregistrationv1.Create || o == admissionregistrationv1.OperationAll
	}
	wholeBundle := func(resource string) bool {
		return slices.Contains([]string{"namespaces", "namespaces/*", "*", "*/*"}, resource)
	}
	return slices.ContainsFunc(rule.Operations, creates) && slices.ContainsFunc(rule.Resources, wholeBundle)
}

// narrowModes are the install modes that limit the operator to some namespaces.
func narrowModes(s *subject) []string {
	var modes []string
	for _, m := range s.CSV.Spec.InstallModes {
		if m.Supported && m.Type != operatorsv1alpha1.InstallModeTypeAllNamespaces {
			modes = append(modes, string(m.Type))
		}
	}
	return modes
}

func selfDeadlocks(s *subject) []mistake {
	var all []mistake
	for _, w := range s.admission() {
		if hasObjectSelector(w) && !s.selectsItself(w) {
			continue
		}
		var cut []string
		for _, l := range s.exemptedRequests(w) {
			if !slices.Contains(cut, l.What) {
				cut = append(cut, l.What)
			}
		}
		if len(cut) > 0 {
			all = append(all, s.inCSV(w.path+".rules", fmt.Sprintf("while the webhook does not answer it refuses %s, so that under OLM v0 it stays down permanently; this manager exempts those requests", strings.Join(cut, ", ")),
				"leave them out of the rules, select by an objectSelector what the webhook is for, or take failurePolicy Ignore"))
		}
	}
	return all
}

func (s *subject) exemptedRequests(w webhook) []exemptions.Exemption {
	if s.deadlocks == nil {
		csv := s.CSV.DeepCopy()
		csv.Namespace = s.SuggestedNamespace()
		s.deadlocks = exemptions.ForWidestScope(csv)
	}
	return s.deadlocks(w.WebhookDescription)
}

func failsOpen(w webhook) bool {
	return w.FailurePolicy != nil && *w.FailurePolicy == admissionregistrationv1.Ignore
}

// hasObjectSelector reports whether a webhook requires a label: then it intercepts only objects that are
// labelled for it, and not the objects of the cluster's own components.
func hasObjectSelector(w webhook) bool {
	if w.ObjectSelector == nil {
		return false
	}
	return len(w.ObjectSelector.MatchLabels) > 0 || slices.ContainsFunc(w.ObjectSelector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpExists
	})
}

// selectsItself reports whether a webhook asks for labels that pods of its own operator bear.
func (s *subject) selectsItself(w webhook) bool {
	selector, err := metav1.LabelSelectorAsSelector(w.ObjectSelector)
	return err == nil && slices.ContainsFunc(s.deployments(), func(d deployment) bool { return selector.Matches(labels.Set(d.Spec.Template.Labels)) })
}

func groupNames(names []string) string {
	var shown []string
	for _, name := range names {
		if name == "" {
			name = "the core group"
		}
		shown = append(shown, name)
	}
	return strings.Join(shown, ", ")
}
