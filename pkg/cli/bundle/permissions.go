package bundle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Account has the permissions that a ClusterServiceVersion requests for a ServiceAccount.
type Account struct {
	Name string
	// Namespaced are the rules for the watched namespaces, Cluster those for the whole cluster.
	Namespaced, Cluster []rbacv1.PolicyRule
}

// Accounts returns the permissions that a ClusterServiceVersion requests, sorted by ServiceAccount.
func Accounts(csv *operatorsv1alpha1.ClusterServiceVersion) []Account {
	accounts := map[string]Account{}
	for _, p := range csv.Spec.InstallStrategy.StrategySpec.Permissions {
		a := accounts[p.ServiceAccountName]
		accounts[p.ServiceAccountName] = Account{p.ServiceAccountName, append(a.Namespaced, p.Rules...), a.Cluster}
	}
	for _, p := range csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions {
		a := accounts[p.ServiceAccountName]
		accounts[p.ServiceAccountName] = Account{p.ServiceAccountName, a.Namespaced, append(a.Cluster, p.Rules...)}
	}
	return lists.ByKey(accounts)
}

// permissions puts the namespaced rules of an operator that watches all namespaces into a ClusterRole, as OLM v0 does.
// Any other operator has them in its own namespace and in each watched namespace.
func (i installation) permissions(watch []string) []*unstructured.Unstructured {
	var accounts, roles []*unstructured.Unstructured
	for _, a := range Accounts(i.CSV) {
		if i.Find(groupkind.ServiceAccount, a.Name) == nil {
			accounts = append(accounts, plain(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: a.Name, Namespace: i.Namespace}}))
		}
		for _, object := range a.grants(i.Namespace, i.CSV.Name, watch) {
			granted := plain(object)
			label(granted, i.ownership())
			roles = append(roles, granted)
		}
	}
	return slices.Concat(accounts, roles)
}

// ownership returns the labels by which the manager and OLM v0 find, and delete, objects of a ClusterServiceVersion
// that cannot have an owner reference, or are created before it.
func (i installation) ownership() map[string]string {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: i.CSV.Name, Namespace: i.Namespace}}
	labels := csvspec.OwnerLabels(csv)
	delete(labels, wellknown.LabelManaged) // the manager does not grant it
	return labels
}

func (a Account) grants(namespace, csv string, watch []string) []runtime.Object {
	name := names.Permissions(namespace, csv, a.Name)
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: a.Name, Namespace: namespace}}
	var all []runtime.Object
	cluster := a.Cluster
	if len(watch) == 0 && len(a.Namespaced) > 0 {
		cluster = slices.Concat(cluster, a.Namespaced, readNamespaces)
	}
	if len(cluster) > 0 {
		meta := metav1.ObjectMeta{Name: name}
		all = append(all,
			&rbacv1.ClusterRole{ObjectMeta: meta, Rules: cluster},
			&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}})
	}
	if len(watch) == 0 || len(a.Namespaced) == 0 {
		return all
	}
	for _, in := range lists.Sorted(append([]string{namespace}, watch...)) {
		meta := metav1.ObjectMeta{Name: name, Namespace: in}
		all = append(all,
			&rbacv1.Role{ObjectMeta: meta, Rules: a.Namespaced},
			&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}})
	}
	return all
}

// readNamespaces is OLM v0's rule, too: an operator that watches all namespaces has to list them.
var readNamespaces = []rbacv1.PolicyRule{{
	APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"},
}}
