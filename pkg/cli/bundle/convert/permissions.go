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
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// usedAccount is a ServiceAccount of the Deployments, with its rules. Rules have the form in which they are written.
type usedAccount struct {
	namespaced, cluster ruleList
	users               []*deployment
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
	accounts map[string]*usedAccount // of the Deployments
	given    map[*bundle.Object]bool
	needed   map[*bundle.Object]bool // roles of bindings in the bundle
	widened  []string                // the RoleBindings whose rules are in permissions
}

func (c *converter) convertPermissions() {
	r := &rbac{converter: c, accounts: map[string]*usedAccount{}, given: map[*bundle.Object]bool{}, needed: map[*bundle.Object]bool{}}
	for _, d := range c.deployments {
		if r.accounts[d.account()] == nil {
			r.accounts[d.account()] = &usedAccount{}
		}
		r.accounts[d.account()].users = append(r.accounts[d.account()].users, d)
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
			if r.accounts[typed.Name] != nil {
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
	roles := r.find(o, ref)
	if len(roles) > 1 {
		r.ambiguous(o, "roleRef", "the binding is not in the bundle", roles)
		return
	}
	role := first(roles)
	mine := func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && r.uses(s.Name, s.Namespace)
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

// uses reports whether a Deployment has an account.
func (r *rbac) uses(name, namespace string) bool {
	a := r.accounts[name]
	return a != nil && slices.ContainsFunc(a.users, func(d *deployment) bool { return r.same(d.object.GetNamespace(), namespace) })
}

func (r *rbac) give(binding *bundle.Object, to *usedAccount, rules []any) {
	if _, cluster := binding.Typed.(*rbacv1.ClusterRoleBinding); cluster {
		to.cluster.add(rules)
		return
	}
	to.namespaced.add(rules)
	r.widened = append(r.widened, binding.GetName())
}

// find returns the role of a binding. It returns none if the role is not in the input, and several if it can be each.
func (r *rbac) find(binding *bundle.Object, ref rbacv1.RoleRef) []*bundle.Object {
	named := lists.Filter(r.objects, func(o *bundle.Object) bool {
		switch o.Typed.(type) {
		case *rbacv1.ClusterRole:
			return ref.Kind == "ClusterRole" && ref.Name == o.GetName()
		case *rbacv1.Role:
			return ref.Kind == "Role" && ref.Name == o.GetName()
		default:
			return false
		}
	})
	if ref.Kind == "ClusterRole" {
		return named
	}
	return inNamespace(r.namespaces, named, binding.GetNamespace(), (*bundle.Object).GetNamespace)
}

func first(objects []*bundle.Object) *bundle.Object {
	if len(objects) == 0 {
		return nil
	}
	return objects[0]
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
		if s.Kind == rbacv1.ServiceAccountKind && r.own(s.Namespace) && (r.accounts[s.Name] == nil || r.uses(s.Name, s.Namespace)) {
			delete(written[i].(map[string]any), "namespace")
		}
		left = append(left, written[i])
		r.checkSubject(o, i, s)
	}
	kept.Object["subjects"] = left
	r.needed[role] = true
	r.keep(o, kept)
}

// checkSubject reports a group or a user that stands for the accounts of the operator's namespace: an administrator can
// choose another one, and an installation completes the namespaces of ServiceAccounts only.
func (r *rbac) checkSubject(o *bundle.Object, i int, s rbacv1.Subject) {
	remedy := "bind the accounts by their names, with kind: ServiceAccount: an installation writes its namespace"
	namespace, _, err := serviceaccount.SplitUsername(s.Name)
	for home := range r.homes {
		isGroup := s.Kind == rbacv1.GroupKind && s.Name == serviceaccount.MakeNamespaceGroupName(home)
		if isGroup || s.Kind == rbacv1.UserKind && err == nil && namespace == home {
			r.report(Warning, o, fmt.Sprintf("subjects[%d].name", i), fmt.Sprintf("the %s %s is in the bundle as it is written. In another namespace than %s, the operator lacks the permissions, and accounts of %s have them", s.Kind, s.Name, home, home), remedy)
		}
	}
}

// convertRole keeps a role that the ClusterServiceVersion does not replace.
func (r *rbac) convertRole(o *bundle.Object) {
	switch {
	case !r.own(o.GetNamespace()):
		r.report(Error, o, "metadata.namespace", fmt.Sprintf("the role is not in the bundle: namespaced objects of a bundle are created in the operator's namespace, and not in %s", o.GetNamespace()),
			"request the rules in spec.install.spec.clusterPermissions, or document that an administrator creates the role")
	case r.given[o] && !r.needed[o] && len(show.AggregatedTo(o.GetLabels())) == 0:
	default:
		r.keep(o, o.Unstructured)
	}
}

// checkAccount reports fields of an account of the operator. An installation creates the account without them.
func (r *rbac) checkAccount(o *bundle.Object, account *corev1.ServiceAccount) {
	if !r.uses(account.Name, account.Namespace) {
		r.report(Error, o, "metadata.name", "the account is not in the bundle: a bundle has one namespace, and an account of the operator has the same name: "+title(r.accounts[account.Name].users[0].object)+" uses it",
			"if the operator needs this account, too, rename it in its sources, and convert again")
		return
	}
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
		r.checkShared(r.accounts[name])
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

// checkShared reports accounts of one name in several namespaces: in the bundle they are one.
func (r *rbac) checkShared(a *usedAccount) {
	if len(a.namespaced.rules)+len(a.cluster.rules) == 0 {
		return
	}
	d := a.users[0]
	other := lists.First(a.users, func(u *deployment) bool { return !r.same(u.object.GetNamespace(), d.object.GetNamespace()) })
	if other != nil {
		r.report(Error, other.object, "spec.template.spec.serviceAccountName", fmt.Sprintf("the account %s is also that of %s, because the bundle has one namespace: each of the two gets the permissions of both", d.account(), title(d.object)),
			"give each Deployment an account with a name of its own in the sources, and convert again")
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
