package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// access is what the ServiceAccounts of a ClusterServiceVersion may do everywhere, and
// in the namespaces that matter, not counting some bindings.
func (c *gatherer) access(csv *operatorsv1alpha1.ClusterServiceVersion, targets []string, but map[string]bool) permissions.Access {
	access := permissions.Access{Everywhere: map[string][]rbacv1.PolicyRule{}, In: map[string]map[string][]rbacv1.PolicyRule{}}
	namespaces := permissions.GrantedIn(csv.Namespace, targets)
	for _, account := range csvspec.ServiceAccounts(csv) {
		for _, subject := range permissions.SubjectsOf(csv.Namespace, account) {
			for _, b := range c.caches.ClusterRoleBindings.By(informers.BySubject, subject) {
				if but[drift.KeyOf(b)] {
					continue
				}
				access.Everywhere[account] = append(access.Everywhere[account], c.rules(metav1.NamespaceAll, b.RoleRef)...)
			}
			for _, b := range c.caches.RoleBindings.By(informers.BySubject, subject) {
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
func (c *gatherer) accounts(csv *operatorsv1alpha1.ClusterServiceVersion) map[string]*corev1.ServiceAccount {
	accounts := map[string]*corev1.ServiceAccount{}
	for _, name := range csvspec.ServiceAccounts(csv) {
		if account := c.caches.Accounts.Get(csv.Namespace, name); account != nil {
			accounts[name] = account
		}
	}
	return accounts
}

// rules are those of the role that a binding in a namespace refers to; none when it
// does not exist.
func (c *gatherer) rules(namespace string, ref rbacv1.RoleRef) []rbacv1.PolicyRule {
	if ref.Kind == "ClusterRole" {
		if role := c.caches.ClusterRoles.Get("", ref.Name); role != nil {
			return role.Rules
		}
	} else if role := c.caches.Roles.Get(namespace, ref.Name); role != nil {
		return role.Rules
	}
	return nil
}

// grantChanged matters to the ClusterServiceVersions whose ServiceAccounts a binding
// means, and meant.
func (c *eventHandlers) grantChanged(before, after drift.Object) {
	for _, binding := range present(before, after) {
		for _, subject := range informers.SubjectsOf(binding) {
			for _, csv := range c.caches.CSVs.By(informers.BySubject, subject) {
				c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
			}
		}
	}
}

// rulesChanged matters to those whom a role is bound to.
func (c *eventHandlers) rulesChanged(before, after drift.Object) {
	role := informers.RoleKeyOf(present(before, after)[0])
	for _, binding := range c.caches.RoleBindings.By(informers.ByRole, role) {
		c.grantChanged(nil, binding)
	}
	for _, binding := range c.caches.ClusterRoleBindings.By(informers.ByRole, role) {
		c.grantChanged(nil, binding)
	}
}
