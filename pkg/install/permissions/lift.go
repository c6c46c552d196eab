package permissions

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Grants are what the installer of a bundle granted in the namespace of its
// ClusterServiceVersion, and what there is besides.
type Grants struct {
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// Targets are the namespaces that the OperatorGroup targets; [""] is all.
	Targets []string
	// Roles and Bindings are those of the ClusterServiceVersion's namespace.
	Roles    map[string]*rbacv1.Role
	Bindings []*rbacv1.RoleBinding
	// Access is what the ServiceAccounts may do without what was lifted.
	Access Access
	// Foreign are roles and bindings that others created: ClusterRoles and ClusterRoleBindings by
	// name, Roles and RoleBindings as namespace/name.
	Foreign map[string]bool
}

// Lifted are the permissions of a ClusterServiceVersion where its OperatorGroup wants
// them: what was granted in its own namespace is granted in the whole cluster for a group
// of all namespaces, and else in each of the others that the group targets.
type Lifted struct {
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
}

// Objects are all of them, roles before those who get them.
func (l Lifted) Objects() []metav1.Object {
	var all []metav1.Object
	for _, o := range l.ClusterRoles {
		all = append(all, o)
	}
	for _, o := range l.ClusterRoleBindings {
		all = append(all, o)
	}
	for _, o := range l.Roles {
		all = append(all, o)
	}
	for _, o := range l.RoleBindings {
		all = append(all, o)
	}
	return all
}

// Lift grants nothing that both the ClusterServiceVersion does not ask for and its
// installer has not granted: a Role is lifted that holds rules of the permissions and none
// besides, for the ServiceAccounts that ask for them and nobody else.
func Lift(g Grants) Lifted {
	var lifted Lifted
	for _, b := range g.Bindings {
		role := g.Roles[b.RoleRef.Name]
		if b.RoleRef.Kind != "Role" || role == nil {
			continue
		}
		for _, namespace := range wherever(g.CSV.Namespace, g.Targets) {
			accounts := slices.DeleteFunc(accountsIn(b, g.CSV.Namespace), func(account string) bool { return !g.lifts(account, role, namespace) })
			if len(accounts) > 0 {
				lifted.add(g, role, b.Name, namespace, accounts)
			}
		}
	}
	return lifted
}

// wherever are the namespaces besides its own in which an operator needs its permissions.
func wherever(own string, targets []string) []string {
	return slices.DeleteFunc(GrantedIn(own, targets), func(namespace string) bool { return namespace == own })
}

// lifts tells whether a Role was made from what a ServiceAccount asks for, and something of
// it is not granted in the namespace by anybody else.
func (g Grants) lifts(account string, role *rbacv1.Role, namespace string) bool {
	asked := csvspec.RulesOf(g.CSV.Spec.InstallStrategy.StrategySpec.Permissions, account)
	beyond := slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool { return !Covers(asked, rule) })
	return !beyond && slices.ContainsFunc(asked, func(rule rbacv1.PolicyRule) bool {
		return Covers(role.Rules, rule) && len(g.Access.Lacking(account, rule, []string{namespace})) > 0
	})
}

func accountsIn(b *rbacv1.RoleBinding, namespace string) []string {
	var accounts []string
	for _, subject := range b.Subjects {
		if subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == namespace {
			accounts = append(accounts, subject.Name)
		}
	}
	return accounts
}

func (l *Lifted) add(g Grants, role *rbacv1.Role, binding, namespace string, accounts []string) {
	var subjects []rbacv1.Subject
	for _, account := range accounts {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: g.CSV.Namespace, Name: account})
	}
	name, binding := g.free(namespace, role.Name, binding)
	if namespace != metav1.NamespaceAll {
		l.Roles = once(l.Roles, &rbacv1.Role{TypeMeta: rbacType("Role"), ObjectMeta: liftedMeta(g.CSV, namespace, name), Rules: role.Rules})
		l.RoleBindings = append(l.RoleBindings, &rbacv1.RoleBinding{
			TypeMeta: rbacType("RoleBinding"), ObjectMeta: liftedMeta(g.CSV, namespace, binding), Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		})
		return
	}
	l.ClusterRoles = once(l.ClusterRoles, &rbacv1.ClusterRole{TypeMeta: rbacType("ClusterRole"), ObjectMeta: liftedMeta(g.CSV, "", name), Rules: append(slices.Clone(role.Rules), ReadNamespaces)})
	l.ClusterRoleBindings = append(l.ClusterRoleBindings, &rbacv1.ClusterRoleBinding{
		TypeMeta: rbacType("ClusterRoleBinding"), ObjectMeta: liftedMeta(g.CSV, "", binding), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	})
}

// once adds a role, which several bindings may refer to.
func once[T metav1.Object](all []T, role T) []T {
	if slices.ContainsFunc(all, func(o T) bool { return o.GetNamespace() == role.GetNamespace() && o.GetName() == role.GetName() }) {
		return all
	}
	return append(all, role)
}

// seeNamespaces is what OLM v0 adds: an operator that watches all namespaces learns which
// ones there are.
var ReadNamespaces = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}}

// free are the names that OLM v0 gives a lifted role and its binding, unless another client has
// created one of that name: to bind accounts to a role that happens to be called like the
// operator's would give them whatever it holds. The binding of such a role gets another name, too: the role
// of a binding cannot be changed.
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

// inNamespace names an object as Grants.Foreign does.
func inNamespace(namespace, name string) string {
	if namespace == metav1.NamespaceAll {
		return name
	}
	return namespace + "/" + name
}

// Elsewhere are the namespaces besides its own in which the permissions of a
// ClusterServiceVersion are lifted; [""] is all.
func (g Grants) Elsewhere() []string { return wherever(g.CSV.Namespace, g.Targets) }

// AddForeign notes a role or a binding that another client created.
func (g Grants) AddForeign(o metav1.Object) {
	g.Foreign[inNamespace(o.GetNamespace(), o.GetName())] = true
}

func rbacType(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// liftedMeta has no owner reference: the owner is in another namespace, or in one at all.
func liftedMeta(csv *operatorsv1alpha1.ClusterServiceVersion, namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels.Merge(csvspec.OwnerLabels(csv), map[string]string{wellknown.LabelGrantedPermissions: "true"})}
}

// IsLiftedAs reports whether a role or a binding grants just what another of its kind and name does, as it was
// lifted: it is what the manager has created, and not yet recorded.
func IsLiftedAs(wanted, live metav1.Object) bool {
	if wanted.GetName() != live.GetName() || wanted.GetNamespace() != live.GetNamespace() {
		return false
	}
	switch w := wanted.(type) {
	case *rbacv1.ClusterRole:
		l, ok := live.(*rbacv1.ClusterRole)
		return ok && l.AggregationRule == nil && equality.Semantic.DeepEqual(w.Rules, l.Rules)
	case *rbacv1.Role:
		l, ok := live.(*rbacv1.Role)
		return ok && equality.Semantic.DeepEqual(w.Rules, l.Rules)
	case *rbacv1.ClusterRoleBinding:
		l, ok := live.(*rbacv1.ClusterRoleBinding)
		return ok && w.RoleRef == l.RoleRef && equality.Semantic.DeepEqual(w.Subjects, l.Subjects)
	case *rbacv1.RoleBinding:
		l, ok := live.(*rbacv1.RoleBinding)
		return ok && w.RoleRef == l.RoleRef && equality.Semantic.DeepEqual(w.Subjects, l.Subjects)
	default:
		return false
	}
}

// IsLifted tells whether an object grants permissions that were lifted.
func IsLifted(o metav1.Object) bool {
	return o.GetLabels()[wellknown.LabelGrantedPermissions] == "true"
}
