package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// grants are the rules of one ServiceAccount. Rules have the form in which they are written.
type grants struct {
	namespaced, cluster ruleList
}

// ruleList has each rule once.
type ruleList struct {
	rules []any
	known map[string]bool // by their JSON
}

func (l *ruleList) add(rules []any) {
	if l.known == nil {
		l.known = map[string]bool{}
	}
	for _, rule := range rules {
		if key := jsonOf(rule); !l.known[key] {
			l.known[key] = true
			l.rules = append(l.rules, rule)
		}
	}
}

// rbac has the state of the conversion of permissions.
type rbac struct {
	*converter
	accounts map[string]*grants // of the Deployments
	given    map[*bundle.Object]bool
	needed   map[*bundle.Object]bool // roles of bindings in the bundle
	widened  []string                // the RoleBindings whose rules are in permissions
}

func (c *converter) convertPermissions() {
	r := &rbac{converter: c, accounts: map[string]*grants{}, given: map[*bundle.Object]bool{}, needed: map[*bundle.Object]bool{}}
	for _, d := range c.deployments {
		r.accounts[d.account()] = &grants{}
	}
	for _, o := range c.objects {
		if object, is := o.Typed.(metav1.Object); is {
			if ref, subjects := permissions.Bound(object); ref.Name != "" {
				c.handled[o] = true
				r.convertBinding(o, ref, subjects)
			}
		}
	}
	for _, o := range c.objects {
		switch typed := o.Typed.(type) {
		case *rbacv1.Role, *rbacv1.ClusterRole:
			c.handled[o] = true
			r.convertRole(o)
		case *corev1.ServiceAccount:
			if r.accounts[typed.Name] != nil && c.own(typed.Namespace) {
				c.handled[o] = true
				r.checkAccount(o, typed)
			}
		}
	}
	r.list()
	r.checkWebhookPermissions()
}

// convertBinding gives the rules of a role to the operator's accounts. Other subjects keep the binding.
func (r *rbac) convertBinding(o *bundle.Object, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
	if !r.own(o.GetNamespace()) {
		r.report(Error, o, "metadata.namespace", fmt.Sprintf("the binding is not in the bundle: namespaced objects of a bundle are created in the operator's namespace, and not in %s", o.GetNamespace()),
			"request the rules in spec.install.spec.clusterPermissions, or document that an administrator creates the binding")
		return
	}
	role := r.find(o, ref)
	mine := func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && r.accounts[s.Name] != nil && r.own(s.Namespace)
	}
	own := lists.Filter(subjects, mine)
	aggregated := role != nil && !isEmpty(role.Object["aggregationRule"])
	if len(own) > 0 && (role == nil || aggregated) {
		what := fmt.Sprintf("the rules of %s %s are not in the input", ref.Kind, ref.Name)
		if aggregated {
			what = fmt.Sprintf("the ClusterRole %s gets its rules by aggregation", ref.Name)
		}
		r.report(Warning, o, "roleRef", what+": the bundle has the binding itself, without the namespace of the account. The manager adds the namespace, and OLM v0 does not", "if the bundle is also for OLM v0, write the rules in spec.install.spec.clusterPermissions")
		own = nil
	}
	rules := []any(nil)
	if len(own) > 0 {
		rules, _ = role.Object["rules"].([]any)
		r.given[role] = true
	}
	for _, s := range own {
		r.give(o, r.accounts[s.Name], rules)
	}
	if len(own) < len(subjects) || len(subjects) == 0 {
		r.keepBinding(o, role, func(s rbacv1.Subject) bool { return len(own) == 0 || !mine(s) })
	}
}

func (r *rbac) give(binding *bundle.Object, to *grants, rules []any) {
	if _, cluster := binding.Typed.(*rbacv1.ClusterRoleBinding); cluster {
		to.cluster.add(rules)
		return
	}
	to.namespaced.add(rules)
	r.widened = append(r.widened, binding.GetName())
}

// find returns the role of a binding; nil if it is not in the input.
func (r *rbac) find(binding *bundle.Object, ref rbacv1.RoleRef) *bundle.Object {
	return lists.First(r.objects, func(o *bundle.Object) bool {
		switch o.Typed.(type) {
		case *rbacv1.ClusterRole:
			return ref.Kind == "ClusterRole" && o.GetName() == ref.Name
		case *rbacv1.Role:
			same := o.GetNamespace() == binding.GetNamespace() || r.own(o.GetNamespace()) && r.own(binding.GetNamespace())
			return ref.Kind == "Role" && o.GetName() == ref.Name && same
		default:
			return false
		}
	})
}

// keepBinding adds a binding with some of its subjects. An installation completes the namespaces of the operator's accounts.
func (r *rbac) keepBinding(o *bundle.Object, role *bundle.Object, keeps func(rbacv1.Subject) bool) {
	kept := o.DeepCopy()
	written, _ := kept.Object["subjects"].([]any)
	_, subjects := permissions.Bound(o.Typed.(metav1.Object))
	var left []any
	for i, s := range subjects {
		if !keeps(s) {
			continue
		}
		if s.Kind == rbacv1.ServiceAccountKind && r.own(s.Namespace) {
			delete(written[i].(map[string]any), "namespace")
		}
		left = append(left, written[i])
	}
	kept.Object["subjects"] = left
	r.needed[role] = true
	r.keep(kept)
}

// convertRole keeps a role that the ClusterServiceVersion does not replace.
func (r *rbac) convertRole(o *bundle.Object) {
	switch {
	case !r.own(o.GetNamespace()):
		r.report(Error, o, "metadata.namespace", fmt.Sprintf("the role is not in the bundle: namespaced objects of a bundle are created in the operator's namespace, and not in %s", o.GetNamespace()),
			"request the rules in spec.install.spec.clusterPermissions, or document that an administrator creates the role")
	case r.given[o] && !r.needed[o] && len(show.AggregatedTo(o.GetLabels())) == 0:
	default:
		r.keep(o.Unstructured)
	}
}

// checkAccount reports fields of an account of the operator. An installation creates the account without them.
func (r *rbac) checkAccount(o *bundle.Object, account *corev1.ServiceAccount) {
	lost := lists.Map(slices.Sorted(maps.Keys(withoutTools(account.Annotations))), annotation)
	if len(account.ImagePullSecrets) > 0 {
		lost = append(lost, "imagePullSecrets")
	}
	if account.AutomountServiceAccountToken != nil {
		lost = append(lost, "automountServiceAccountToken")
	}
	if len(lost) > 0 {
		r.report(Warning, o, lost[0], "the installation creates the account of the operator, and the bundle does not have the object: it lacks "+strings.Join(lost, ", "), "set imagePullSecrets and automountServiceAccountToken in the pods; document that an administrator adds annotations to the account")
	}
}

// list writes the permissions into the ClusterServiceVersion. An account without rules is named, so that it is created.
func (r *rbac) list() {
	for _, name := range slices.Sorted(maps.Keys(r.accounts)) {
		cluster, namespaced := r.accounts[name].cluster.rules, r.accounts[name].namespaced.rules
		if len(cluster) > 0 {
			r.cluster = append(r.cluster, map[string]any{"serviceAccountName": name, "rules": cluster})
		}
		if len(namespaced) > 0 || len(cluster) == 0 && name != "default" {
			r.permissions = append(r.permissions, map[string]any{"serviceAccountName": name, "rules": append([]any{}, namespaced...)})
		}
	}
	if len(r.widened) > 0 {
		r.reportCSV("spec.install.spec.permissions", fmt.Sprintf("the operator has the rules of the RoleBindings %s in each namespace that it watches: in the whole cluster if it watches all namespaces", strings.Join(lists.Sorted(r.widened), ", ")),
			"to limit rules to the operator's namespace, remove them here, and add the Role and the RoleBinding to manifests/")
	}
}

// checkWebhookPermissions reports that an operator may change the webhook configurations, which the manager creates.
func (r *rbac) checkWebhookPermissions() {
	if len(r.webhooks) == 0 {
		return
	}
	for _, o := range r.objects {
		if !r.given[o] {
			continue
		}
		for i, rule := range permissions.RulesOf(o.Typed.(metav1.Object)) {
			if changesWebhooks(rule) {
				r.report(Warning, o, fmt.Sprintf("rules[%d]", i), "the operator may change webhook configurations. The manager creates those of the bundle, under other names, and reverts changes", "switch off the part of the operator that creates or patches its own webhooks or their caBundle, and remove the rule")
			}
		}
	}
}

func changesWebhooks(rule rbacv1.PolicyRule) bool {
	has := func(list []string, names ...string) bool {
		return slices.ContainsFunc(list, func(item string) bool { return slices.Contains(names, item) })
	}
	return has(rule.APIGroups, admissionregistrationv1.GroupName) &&
		has(rule.Resources, "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "*") &&
		has(rule.Verbs, "create", "update", "patch", "*")
}
