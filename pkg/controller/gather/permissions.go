package gather

import (
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func (g *Gatherer) access(csv *operatorsv1alpha1.ClusterServiceVersion, targets []string, except map[string]bool) permissions.Access {
	return AccessOf(g.Caches, csv, permissions.GrantedIn(csv.Namespace, targets), except)
}

// AccessOf returns what the ServiceAccounts of a ClusterServiceVersion may do, in all namespaces and in some. It does
// not count some bindings, by key.
func AccessOf(caches *informers.Caches, csv *operatorsv1alpha1.ClusterServiceVersion, namespaces []string, except map[string]bool) permissions.Access {
	access := permissions.Access{Everywhere: map[string][]rbacv1.PolicyRule{}, In: map[string]map[string][]rbacv1.PolicyRule{}}
	for _, account := range csvspec.ServiceAccounts(csv) {
		for _, subject := range permissions.SubjectsOf(csv.Namespace, account) {
			for _, b := range caches.ClusterRoleBindings.By(informers.BySubject, subject) {
				if except[drift.KeyOf(b)] {
					continue
				}
				access.Everywhere[account] = append(access.Everywhere[account], rulesOf(caches, metav1.NamespaceAll, b.RoleRef)...)
			}
			for _, b := range caches.RoleBindings.By(informers.BySubject, subject) {
				if !slices.Contains(namespaces, b.Namespace) || except[drift.KeyOf(b)] {
					continue
				}
				if access.In[b.Namespace] == nil {
					access.In[b.Namespace] = map[string][]rbacv1.PolicyRule{}
				}
				access.In[b.Namespace][account] = append(access.In[b.Namespace][account], rulesOf(caches, b.Namespace, b.RoleRef)...)
			}
		}
	}
	return access
}

// rulesOf returns none if the role does not exist.
func rulesOf(caches *informers.Caches, namespace string, ref rbacv1.RoleRef) []rbacv1.PolicyRule {
	if ref.Kind == "ClusterRole" {
		if role := caches.ClusterRoles.Get("", ref.Name); role != nil {
			return role.Rules
		}
	} else if role := caches.Roles.Get(namespace, ref.Name); role != nil {
		return role.Rules
	}
	return nil
}

func (g *Gatherer) lifted(s *decide.Facts) []drift.Object {
	proven, alleged := g.labelledAsLifted(s)
	if len(alleged) == 0 {
		return proven
	}
	lifts := permissions.Lift(g.grants(s, slices.Concat(proven, alleged), proven))
	for _, o := range alleged {
		if slices.ContainsFunc(lifts, func(lift metav1.Object) bool { return permissions.IsLiftedAs(lift, o) }) {
			proven = append(proven, o)
		}
	}
	return proven
}

// proven objects belong to the ClusterServiceVersion; alleged ones only have its labels.
func (g *Gatherer) labelledAsLifted(s *decide.Facts) (proven, alleged []drift.Object) {
	ids := informers.OwnerIDs(s.CSV, s.Upgrade.From)
	for _, o := range slices.Concat(
		drift.Objects(g.Caches.ClusterRoles.OfOwners(ids)), drift.Objects(g.Caches.ClusterRoleBindings.OfOwners(ids)),
		drift.Objects(g.Caches.Roles.OfOwners(ids)), drift.Objects(g.Caches.RoleBindings.OfOwners(ids)),
	) {
		switch {
		case !permissions.IsLifted(o):
		case s.Ownership.Proves(o):
			proven = append(proven, o)
		default:
			alleged = append(alleged, o)
		}
	}
	return proven, alleged
}

// grants are from the installer, not from lifted objects. The proven objects belong to the ClusterServiceVersion.
func (g *Gatherer) grants(s *decide.Facts, lifted, proven []drift.Object) permissions.Grants {
	ours := map[string]bool{}
	for _, o := range lifted {
		ours[drift.KeyOf(o)] = true
	}
	granted := permissions.Grants{
		CSV: s.CSV, Targets: s.Scope.Namespaces, Roles: map[string]*rbacv1.Role{}, Ending: map[string]bool{}, Foreign: map[string]bool{},
		Access:     g.access(s.CSV, s.Scope.Namespaces, ours),
		OnlyListed: s.Settings.WithOLM, Listed: listedRoles(s.CSV, g.Caches.Plans, g.Settings.Certificates.ClockSkew),
		Kept: lists.Map(proven, func(o drift.Object) metav1.Object { return o }),
	}
	seen := map[string]bool{}
	for _, account := range csvspec.ServiceAccounts(s.CSV) {
		for _, b := range g.Caches.RoleBindings.By(informers.BySubject, permissions.SubjectsOf(s.CSV.Namespace, account)[0]) {
			if b.Namespace != s.CSV.Namespace || seen[b.Name] {
				continue
			}
			seen[b.Name] = true
			granted.Bindings = append(granted.Bindings, b)
			granted.Ending[b.Name] = s.Upgrade.Ends(b)
			if role := g.Caches.Roles.Get(b.Namespace, b.RoleRef.Name); role != nil {
				granted.Roles[role.Name] = role
			}
			for _, o := range g.sameNames(lists.Sorted(append(granted.Elsewhere(), metav1.NamespaceAll)), b) {
				if !ours[drift.KeyOf(o)] {
					granted.AddForeign(o)
				}
			}
		}
	}
	return granted
}

// listedRoles are none without --with-olm: the cache of InstallPlans is empty then.
func listedRoles(csv *operatorsv1alpha1.ClusterServiceVersion, plans informers.Store[*operatorsv1alpha1.InstallPlan], skew time.Duration) map[string]bool {
	return permissions.ListedRoles(csv, plans.By(informers.ByPlanned, csv.Namespace+"/"+csv.Name), skew)
}

// sameNames are objects with the name of a binding or its role. The namespace "" is the cluster.
func (g *Gatherer) sameNames(namespaces []string, b *rbacv1.RoleBinding) (found []drift.Object) {
	for _, namespace := range namespaces {
		if namespace == metav1.NamespaceAll {
			found = slices.Concat(found, g.Caches.ClusterRoles.Named("", b.RoleRef.Name), g.Caches.ClusterRoleBindings.Named("", b.Name))
		} else {
			found = slices.Concat(found, g.Caches.Roles.Named(namespace, b.RoleRef.Name), g.Caches.RoleBindings.Named(namespace, b.Name))
		}
	}
	return found
}
