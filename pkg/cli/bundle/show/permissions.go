package show

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// Permission is a rule that an account gets.
type Permission struct {
	// Account is the name of a ServiceAccount of the operator; other subjects have their kind.
	Account string `json:"account"`
	// Where is "cluster", or the namespaces.
	Where  string `json:"where"`
	Verbs  string `json:"verbs"`
	On     string `json:"on"`
	danger int
}

type role struct {
	kind, namespace, name string
	rules                 []rbacv1.PolicyRule
	labels                map[string]string
}

// binding grants a role in a namespace; in the cluster if that is empty.
type binding struct {
	namespace string
	ref       rbacv1.RoleRef
	subjects  []rbacv1.Subject
}

func (c *contents) keep(o any) bool {
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		c.roles = append(c.roles, newRole(role{kind: "ClusterRole", name: o.Name, rules: slices.Concat(o.Rules, aggregated(o)), labels: o.Labels}))
	case *rbacv1.Role:
		c.roles = append(c.roles, newRole(role{kind: "Role", namespace: o.Namespace, name: o.Name, rules: o.Rules}))
	case *rbacv1.ClusterRoleBinding:
		return c.bind(binding{"", o.RoleRef, o.Subjects})
	case *rbacv1.RoleBinding:
		return c.bind(binding{o.Namespace, o.RoleRef, o.Subjects})
	default:
		return false
	}
	return true
}

// bind returns false for a binding without subjects: it grants nothing, so it has no row among the permissions.
func (c *contents) bind(b binding) bool {
	if len(b.subjects) == 0 {
		return false
	}
	c.bindings = append(c.bindings, b)
	return true
}

// newRole completes a role without rules: to apply it leaves those of a role that exists.
func newRole(r role) role {
	if len(r.rules) == 0 {
		r.rules = []rbacv1.PolicyRule{everythingOf(r.kind + " " + r.name)}
	}
	return r
}

// aggregated stands for the rules that Kubernetes copies from other ClusterRoles.
func aggregated(o *rbacv1.ClusterRole) []rbacv1.PolicyRule {
	if o.AggregationRule == nil {
		return nil
	}
	return lists.Map(o.AggregationRule.ClusterRoleSelectors, func(selector metav1.LabelSelector) rbacv1.PolicyRule {
		return everythingOf("ClusterRoles with " + selectorText(&selector))
	})
}

// everythingOf stands for the rules of a role that the bundle does not bring.
func everythingOf(role string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{"all of"}, NonResourceURLs: []string{role}}
}

func (c *contents) permissions() []Permission {
	var all []Permission
	for _, b := range c.bindings {
		for _, subject := range b.subjects {
			all = append(all, grants(c.accountOf(subject), cmp.Or(b.namespace, "cluster"), c.rulesOf(b))...)
		}
	}
	for _, r := range c.roles {
		for _, name := range AggregatedTo(r.labels) {
			all = append(all, grants("all who have ClusterRole "+name, theirScope, r.rules)...)
		}
		if c.isUngranted(r) {
			all = append(all, grantedToNobody(r)...)
		} else if labels := otherLabels(r); len(labels) > 0 {
			all = append(all, grants("all who have a ClusterRole that aggregates"+labelText(" labels", labels), theirScope, []rbacv1.PolicyRule{everythingOf(r.kind + " " + r.name)})...)
		}
	}
	all = slices.Concat(all, c.borrowed(), c.ofPods(), c.delegations())
	return byDanger(merged(all), func(p Permission) int { return p.danger })
}

// borrowed lists the accounts that the bundle does not bring: pods have all permissions of their account.
func (c *contents) borrowed() []Permission {
	var all []Permission
	own := sets.New(c.accounts...)
	for _, d := range c.deployments() {
		if !own.Has(d.Account) {
			all = append(all, Permission{
				Account: d.Account, Where: theirScope, Verbs: "all of", danger: 5,
				On: fmt.Sprintf("what ServiceAccount %s/%s may do, which the bundle does not bring", c.namespace.Name, d.Account),
			})
		}
	}
	return all
}

// ofPods lists the Secrets and volumes that the bundle does not bring, which may be another operator's, and the priorities:
// to start pods of a high priority, the scheduler deletes other pods.
func (c *contents) ofPods() []Permission {
	own := sets.New[string]()
	for _, o := range c.others {
		if o.Kind == "Secret" {
			own.Insert(o.Name)
		}
	}
	var all []Permission
	for w := range c.pods() {
		pod := w.template.Spec
		foreign := slices.DeleteFunc(secretsOf(pod), own.Has)
		for _, what := range slices.Concat(listed("Secrets", foreign), listed("PersistentVolumeClaims", claimsOf(pod))) {
			all = append(all, Permission{Account: csvspec.ServiceAccountOf(pod), Where: c.namespace.Name, Verbs: "mount", On: what, danger: 2})
		}
		if pod.PriorityClassName != "" {
			all = append(all, Permission{
				Account: csvspec.ServiceAccountOf(pod), Where: "cluster", Verbs: "preempt", danger: 1,
				On: fmt.Sprintf("other pods (priorityClassName %s)", pod.PriorityClassName),
			})
		}
	}
	return all
}

// delegations returns the roles that the manager binds for an aggregated API server.
func (c *contents) delegations() []Permission {
	serves := sets.New[string]()
	for _, api := range c.csv.Spec.APIServiceDefinitions.Owned {
		serves.Insert(api.DeploymentName)
	}
	accounts := sets.New[string]()
	for w := range c.pods() {
		if w.kind == "" && serves.Has(w.name) {
			accounts.Insert(csvspec.ServiceAccountOf(w.template.Spec))
		}
	}
	var all []Permission
	for _, account := range sets.List(accounts) {
		all = append(all, grants(account, "cluster", []rbacv1.PolicyRule{everythingOf("ClusterRole " + permissions.AuthDelegator)})...)
		all = append(all, grants(account, permissions.AuthReaderNamespace, []rbacv1.PolicyRule{everythingOf("Role " + permissions.AuthReader)})...)
	}
	return all
}

func (c *contents) rulesOf(b binding) []rbacv1.PolicyRule {
	for _, r := range c.roles {
		if r.is(b) {
			return r.rules
		}
	}
	return []rbacv1.PolicyRule{everythingOf(b.ref.Kind + " " + b.ref.Name)}
}

func (r role) is(b binding) bool {
	return r.kind == b.ref.Kind && r.name == b.ref.Name && (r.kind == "ClusterRole" || r.namespace == b.namespace)
}

func (c *contents) ungranted() []Object {
	return lists.FilterMap(c.roles, func(r role) (Object, bool) {
		return Object{Kind: r.kind + "." + rbacv1.GroupName, Namespace: r.namespace, Name: r.name}, c.isUngranted(r)
	})
}

func (c *contents) isUngranted(r role) bool {
	return len(AggregatedTo(r.labels)) == 0 && !slices.ContainsFunc(c.bindings, r.is)
}

// grantedToNobody lists rules that an existing binding may grant, or that an existing ClusterRole may aggregate.
func grantedToNobody(r role) []Permission {
	account := fmt.Sprintf("no account yet (%s %s%s)", r.kind, r.name, labelText(", with labels", r.labels))
	rows := grants(account, cmp.Or(r.namespace, "where it is bound"), r.rules)
	for i, rule := range r.rules {
		rows[i].danger = dangerOf("", "", rule)
	}
	return rows
}

// theirScope is the scope of aggregated rules: the scope of each binding of the role.
const theirScope = "their scope"

const aggregateTo = "rbac.authorization.k8s.io/aggregate-to-"

// AggregatedTo returns the ClusterRoles of Kubernetes that get the rules of a ClusterRole with these labels.
func AggregatedTo(labels map[string]string) []string {
	var all []string
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		if name, ok := strings.CutPrefix(label, aggregateTo); ok && labels[label] == "true" {
			all = append(all, name)
		}
	}
	return all
}

// otherLabels are those by which a ClusterRole of the cluster may aggregate the role. Those of an owner are OLM's.
func otherLabels(r role) map[string]string {
	others := maps.Clone(r.labels)
	maps.DeleteFunc(others, func(label, _ string) bool {
		return strings.HasPrefix(label, aggregateTo) || strings.HasPrefix(label, "olm.owner")
	})
	return others
}

func (c *contents) accountOf(s rbacv1.Subject) string {
	switch {
	case s.Kind != rbacv1.ServiceAccountKind:
		return s.Kind + " " + s.Name
	case s.Namespace == c.namespace.Name:
		return s.Name
	default:
		return fmt.Sprintf("ServiceAccount %s/%s", s.Namespace, s.Name)
	}
}

func grants(account, where string, rules []rbacv1.PolicyRule) []Permission {
	return lists.Map(rules, func(rule rbacv1.PolicyRule) Permission {
		return Permission{Account: account, Where: where, Verbs: strings.Join(rule.Verbs, ","), On: objectsOf(rule), danger: dangerOf(account, where, rule)}
	})
}

// merged makes one row of a rule that is granted twice, or in several namespaces.
func merged(all []Permission) []Permission {
	type grant struct {
		account, verbs, on string
		cluster            bool
	}
	var rows []Permission
	places := map[grant][]string{}
	for _, p := range all {
		g := grant{p.Account, p.Verbs, p.On, p.Where == "cluster"}
		if len(places[g]) == 0 {
			rows = append(rows, p)
		}
		places[g] = append(places[g], p.Where)
	}
	for i, row := range rows {
		rows[i].Where = strings.Join(lists.Distinct(places[grant{row.Account, row.Verbs, row.On, row.Where == "cluster"}]), ", ")
	}
	return rows
}

func objectsOf(rule rbacv1.PolicyRule) string {
	text := strings.Join(slices.Concat(rule.NonResourceURLs, qualified(rule.APIGroups, rule.Resources)), ", ")
	if len(rule.ResourceNames) > 0 {
		text += fmt.Sprintf(" (%s)", strings.Join(rule.ResourceNames, ", "))
	}
	return text
}
