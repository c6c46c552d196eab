package permissions

import (
	"reflect"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Grants are what the installer granted in the namespace of the CSV, and all other permissions.
type Grants struct {
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// Targets are the namespaces that the OperatorGroup targets; [""] is all.
	Targets []string
	// Roles and Bindings are in the namespace of the CSV.
	Roles    map[string]*rbacv1.Role
	Bindings []*rbacv1.RoleBinding
	// Ending are the names of the bindings that are deleted with a previous version. Until then they are lifted, too.
	Ending map[string]bool
	// Access is what the ServiceAccounts may do without the lifted permissions.
	Access Access
	// Foreign are objects of other clients, by name or namespace/name.
	Foreign map[string]bool

	// OnlyListed lifts only Roles that an InstallPlan lists, or that are lifted already.
	OnlyListed bool
	// Listed are the names of the Roles that InstallPlans list for the CSV.
	Listed map[string]bool
	// Kept are the lifted objects that belong to the CSV, with proof.
	Kept []metav1.Object
}

// Lift returns roles and their bindings: ClusterRoles for a group of all namespaces, otherwise Roles in each
// target. It grants only what the CSV requests and its installer has granted: it lifts a Role whose rules are
// all in the permissions, for the ServiceAccounts that request them.
func Lift(g Grants) []metav1.Object {
	var lifted lifted
	g.each(func(b *rbacv1.RoleBinding, role *rbacv1.Role, namespace string) {
		accounts := lists.Filter(accountsAmong(b.Subjects, g.CSV.Namespace), func(account string) bool {
			return g.lifts(account, role, namespace) && g.permits(account, role, b.Name, namespace)
		})
		if len(accounts) > 0 {
			lifted.add(g, role, b.Name, namespace, accounts)
		}
	})
	if g.OnlyListed {
		lifted.addProofs(g)
	}
	return slices.Concat(lifted.roles, lifted.bindings)
}

// With returns what the ServiceAccounts may do with lifted objects. What ends with a previous version does not count.
func (g Grants) With(lifted []metav1.Object) Access {
	lasting := g
	lasting.Bindings = lists.Filter(g.Bindings, func(b *rbacv1.RoleBinding) bool { return !g.Ending[b.Name] })
	desired := Lift(lasting)
	return g.Access.With(g.CSV.Namespace, lists.Filter(lifted, func(o metav1.Object) bool {
		return slices.ContainsFunc(desired, func(want metav1.Object) bool {
			return reflect.TypeOf(want) == reflect.TypeOf(o) && want.GetName() == o.GetName() && want.GetNamespace() == o.GetNamespace()
		})
	}))
}

// each calls a function for each binding to a Role and each namespace to which the Role may be lifted.
func (g Grants) each(do func(b *rbacv1.RoleBinding, role *rbacv1.Role, namespace string)) {
	for _, b := range g.Bindings {
		role := g.Roles[b.RoleRef.Name]
		if b.RoleRef.Kind != "Role" || role == nil {
			continue
		}
		for _, namespace := range g.Elsewhere() {
			do(b, role, namespace)
		}
	}
}

type lifted struct{ roles, bindings []metav1.Object }

// Another client may grant the rules in the namespace already.
func (g Grants) lifts(account string, role *rbacv1.Role, namespace string) bool {
	asked := csvspec.RulesOf(g.CSV.Spec.InstallStrategy.StrategySpec.Permissions, account)
	beyond := slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return !Covers(asked, rule) })
	return !beyond && slices.ContainsFunc(asked, func(rule rbacv1.PolicyRule) bool {
		return Covers(role.Rules, rule) && len(g.Access.Lacking(account, rule, []string{namespace})) > 0
	})
}

func accountsAmong(subjects []rbacv1.Subject, namespace string) []string {
	return lists.FilterMap(subjects, func(subject rbacv1.Subject) (string, bool) {
		return subject.Name, subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == namespace
	})
}

func (l *lifted) add(g Grants, role *rbacv1.Role, binding, namespace string, accounts []string) {
	subjects := Subjects(g.CSV.Namespace, accounts...)
	name, freeBinding := g.free(namespace, role.Name, binding)
	meta, bindingMeta := liftedMeta(g.CSV, namespace, name), liftedMeta(g.CSV, namespace, freeBinding)
	if namespace != metav1.NamespaceAll {
		l.addRole(&rbacv1.Role{TypeMeta: RBACType("Role"), ObjectMeta: meta, Rules: role.Rules})
		l.bindings = append(l.bindings, &rbacv1.RoleBinding{
			TypeMeta: RBACType("RoleBinding"), ObjectMeta: bindingMeta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		})
		return
	}
	l.addRole(liftedClusterRole(g, role, binding))
	l.bindings = append(l.bindings, &rbacv1.ClusterRoleBinding{
		TypeMeta: RBACType("ClusterRoleBinding"), ObjectMeta: bindingMeta, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	})
}

func liftedClusterRole(g Grants, role *rbacv1.Role, binding string) *rbacv1.ClusterRole {
	name, _ := g.free(metav1.NamespaceAll, role.Name, binding)
	return &rbacv1.ClusterRole{
		TypeMeta: RBACType("ClusterRole"), ObjectMeta: liftedMeta(g.CSV, metav1.NamespaceAll, name), Rules: liftedRules(role.Rules, metav1.NamespaceAll),
	}
}

// Subjects returns ServiceAccounts as the subjects of a binding.
func Subjects(namespace string, accounts ...string) []rbacv1.Subject {
	return lists.Map(accounts, func(account string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}
	})
}

// addRole adds a role once: several bindings can refer to it.
func (l *lifted) addRole(role metav1.Object) {
	same := func(o metav1.Object) bool {
		return o.GetNamespace() == role.GetNamespace() && o.GetName() == role.GetName()
	}
	if !slices.ContainsFunc(l.roles, same) {
		l.roles = append(l.roles, role)
	}
}

// ReadNamespaces is the rule that OLM v0 adds for an operator that watches all namespaces.
var ReadNamespaces = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}}

func liftedRules(rules []rbacv1.PolicyRule, namespace string) []rbacv1.PolicyRule {
	if namespace != metav1.NamespaceAll {
		return rules
	}
	return append(slices.Clone(rules), ReadNamespaces)
}

// free returns the names of OLM v0, or alternate names if another client has these: to bind its role would
// grant its permissions. An alternate role needs another binding, because the role of a binding is immutable.
func (g Grants) free(namespace, role, binding string) (freeRole, freeBinding string) {
	freeRole, freeBinding = role, binding
	foreign := g.Foreign[inNamespace(namespace, role)]
	if foreign {
		freeRole = names.Lifted(g.CSV.Namespace, role)
	}
	if foreign || g.Foreign[inNamespace(namespace, binding)] {
		freeBinding = names.Lifted(g.CSV.Namespace, binding)
	}
	return freeRole, freeBinding
}

// inNamespace returns the key of an object in Grants.Foreign.
func inNamespace(namespace, name string) string {
	if namespace == metav1.NamespaceAll {
		return name
	}
	return namespace + "/" + name
}

// Elsewhere returns the other namespaces to which permissions are lifted. [""] is all namespaces.
func (g Grants) Elsewhere() []string {
	return slices.DeleteFunc(GrantedIn(g.CSV.Namespace, g.Targets), func(namespace string) bool { return namespace == g.CSV.Namespace })
}

// AddForeign adds a role or a binding that another client created.
func (g Grants) AddForeign(o metav1.Object) {
	g.Foreign[inNamespace(o.GetNamespace(), o.GetName())] = true
}

// RBACType returns the type of an RBAC object.
func RBACType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// liftedMeta returns metadata without an owner reference: the owner is in another namespace.
func liftedMeta(csv *operatorsv1alpha1.ClusterServiceVersion, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels.Merge(csvspec.OwnerLabels(csv), map[string]string{wellknown.LabelGrantedPermissions: "true"})}
}

// IsLiftedAs reports whether the manager has created an object that grants the same, and not recorded it yet.
func IsLiftedAs(wanted, live metav1.Object) bool {
	if wanted.GetName() != live.GetName() || wanted.GetNamespace() != live.GetNamespace() {
		return false
	}
	return GrantsSame(wanted, live)
}

// GrantsSame reports whether two roles have the same rules, or two bindings the same role and subjects.
func GrantsSame(a, b metav1.Object) bool {
	return equality.Semantic.DeepEqual(grantOf(a), grantOf(b))
}

// GrantsMore reports whether a role has a rule that another one does not cover.
func GrantsMore(role, than metav1.Object) bool {
	return slices.ContainsFunc(RulesOf(role), func(rule rbacv1.PolicyRule) bool { return !Covers(RulesOf(than), rule) })
}

func grantOf(o metav1.Object) []any {
	role, subjects := Bound(o)
	if aggregated, ok := o.(*rbacv1.ClusterRole); ok {
		return []any{aggregated.Rules, aggregated.AggregationRule}
	}
	return []any{RulesOf(o), role, subjects}
}

// IsLifted reports whether an object has the label of lifted permissions.
func IsLifted(o metav1.Object) bool {
	return o.GetLabels()[wellknown.LabelGrantedPermissions] == "true"
}
