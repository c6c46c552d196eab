package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// access is what the ServiceAccounts of a ClusterServiceVersion may do everywhere, and
// in the namespaces that matter, not counting some bindings.
func (c *Controller) access(csv *operatorsv1alpha1.ClusterServiceVersion, targets []string, but map[string]bool) install.Access {
	access := install.Access{Everywhere: map[string][]rbacv1.PolicyRule{}, In: map[string]map[string][]rbacv1.PolicyRule{}}
	namespaces := install.GrantedIn(csv.Namespace, targets)
	for _, account := range install.RequiredAccounts(csv) {
		for _, subject := range install.SubjectsOf(csv.Namespace, account) {
			for _, b := range c.caches.clusterRoleBindings.by(bySubject, subject) {
				if but[drift.KeyOf(b)] {
					continue
				}
				access.Everywhere[account] = append(access.Everywhere[account], c.rules(metav1.NamespaceAll, b.RoleRef)...)
			}
			for _, b := range c.caches.roleBindings.by(bySubject, subject) {
				if !slices.Contains(namespaces, b.Namespace) || but[drift.KeyOf(b)] {
					continue
				}
				if access.In[b.Namespace] == nil {
					access.In[b.Namespace] = map[string][]rbacv1.PolicyRule{}
				}
				access.In[b.Namespace][account] = append(access.In[b.Namespace][account], c.rules(b.Namespace, b.RoleRef)...)
			}
		}
	}
	return access
}

// accounts are the ServiceAccounts that a ClusterServiceVersion's permissions speak
// of, as far as they exist.
func (c *Controller) accounts(csv *operatorsv1alpha1.ClusterServiceVersion) map[string]*corev1.ServiceAccount {
	accounts := map[string]*corev1.ServiceAccount{}
	for _, name := range install.RequiredAccounts(csv) {
		if account := c.caches.accounts.get(csv.Namespace, name); account != nil {
			accounts[name] = account
		}
	}
	return accounts
}

// rules are those of the role that a binding in a namespace refers to; none when it
// does not exist.
func (c *Controller) rules(namespace string, ref rbacv1.RoleRef) []rbacv1.PolicyRule {
	if ref.Kind == "ClusterRole" {
		if role := c.caches.clusterRoles.get("", ref.Name); role != nil {
			return role.Rules
		}
	} else if role := c.caches.roles.get(namespace, ref.Name); role != nil {
		return role.Rules
	}
	return nil
}

// grantChanged matters to the ClusterServiceVersions whose ServiceAccounts a binding
// means, and meant.
func (c *Controller) grantChanged(before, after drift.Object) {
	for _, binding := range present(before, after) {
		for _, subject := range subjectsOf(binding) {
			for _, csv := range c.caches.csvs.by(bySubject, subject) {
				c.queue.Add(key{csvKind, csv.Namespace, csv.Name})
			}
		}
	}
}

// rulesChanged matters to those whom a role is bound to.
func (c *Controller) rulesChanged(before, after drift.Object) {
	role := roleKeyOf(present(before, after)[0])
	for _, binding := range c.caches.roleBindings.by(byRole, role) {
		c.grantChanged(nil, binding)
	}
	for _, binding := range c.caches.clusterRoleBindings.by(byRole, role) {
		c.grantChanged(nil, binding)
	}
}

// subjectsOf are the subjects of a binding, and those that a ClusterServiceVersion's
// ServiceAccounts are.
func subjectsOf(o any) []string {
	switch o := o.(type) {
	case *rbacv1.RoleBinding:
		return install.SubjectKeys(o.Subjects)
	case *rbacv1.ClusterRoleBinding:
		return install.SubjectKeys(o.Subjects)
	case *operatorsv1alpha1.ClusterServiceVersion:
		var subjects []string
		for _, account := range install.RequiredAccounts(o) {
			subjects = append(subjects, install.SubjectsOf(o.Namespace, account)...)
		}
		return subjects
	default:
		return nil
	}
}

// roleOf is the role that a binding refers to.
func roleOf(o any) []string {
	switch o := o.(type) {
	case *rbacv1.RoleBinding:
		return []string{roleKey(o.RoleRef.Kind, o.Namespace, o.RoleRef.Name)}
	case *rbacv1.ClusterRoleBinding:
		return []string{roleKey(o.RoleRef.Kind, metav1.NamespaceAll, o.RoleRef.Name)}
	default:
		return nil
	}
}

func roleKeyOf(o drift.Object) string {
	if _, role := o.(*rbacv1.Role); role {
		return roleKey("Role", o.GetNamespace(), o.GetName())
	}
	return roleKey("ClusterRole", metav1.NamespaceAll, o.GetName())
}

func roleKey(kind, namespace, name string) string {
	if kind == "ClusterRole" {
		namespace = metav1.NamespaceAll
	}
	return kind + "/" + namespace + "/" + name
}

// onlyRules keeps what a role grants.
func onlyRules(o any) (any, error) {
	switch o := o.(type) {
	case *rbacv1.Role:
		o.ObjectMeta = identityAndOwnersOf(o.ObjectMeta)
	case *rbacv1.ClusterRole:
		o.ObjectMeta = identityOf(o.ObjectMeta)
	}
	return o, nil
}

// onlySubjects keeps whom a binding gives what.
func onlySubjects(o any) (any, error) {
	switch o := o.(type) {
	case *rbacv1.RoleBinding:
		o.ObjectMeta = identityAndOwnersOf(o.ObjectMeta)
	case *rbacv1.ClusterRoleBinding:
		o.ObjectMeta = identityOf(o.ObjectMeta)
	}
	return o, nil
}

// identityAndOwnersOf also keeps with whom a namespaced object would go.
func identityAndOwnersOf(meta metav1.ObjectMeta) metav1.ObjectMeta {
	identity := identityOf(meta)
	identity.OwnerReferences = meta.OwnerReferences
	return identity
}

func identityOf(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: meta.Namespace, Name: meta.Name, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
}
