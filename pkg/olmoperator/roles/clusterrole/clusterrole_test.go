package clusterrole

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func namesOf(roles []*rbacv1.ClusterRole) []string {
	return lists.Map(roles, func(role *rbacv1.ClusterRole) string { return role.Name })
}

func orders() *apiextensionsv1.CustomResourceDefinition {
	return installtest.Definition("orders.example.com", func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Group = "example.com"
		crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "orders", Kind: "Order"}
	})
}

func packages() *apiregistrationv1.APIService {
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1.packages.operators.coreos.com", UID: "uid-of-packages"},
		Spec:       apiregistrationv1.APIServiceSpec{Group: "packages.operators.coreos.com", Version: "v1"},
	}
}

// OLM v0 gave these names in real clusters.
func TestGroupRoleNames(t *testing.T) {
	for want, group := range map[string]string{
		"olm.og.global-operators.admin-5UD4U2IfBGbw51Qy2Jaefk1uawvkj2OJILlc3w": "operators/global-operators",
		"olm.og.grafana-operator.admin-1ebp7lNSBr25U99APXPVsPKuhgcwrlhDPNjLqu": "grafana-operator/grafana-operator",
		"olm.og.grafana-operator.edit-c1VBngs10rZz3MnjUcLXnblIWjNOe3q81rsqV4":  "grafana-operator/grafana-operator",
	} {
		namespace, name, _ := strings.Cut(group, "/")
		installtest.Among(t, namesOf(OfGroup(namespace, name, nil)), want)
	}
}

// OLM v0 gave these labels in a real cluster.
func TestAPILabels(t *testing.T) {
	for api, want := range map[string]string{
		"KnativeEventing.v1alpha1.operator.knative.dev": "olm.opgroup.permissions/aggregate-to-4fa8c5d8e33af72a-edit",
		"KnativeServing.v1alpha1.operator.knative.dev":  "olm.opgroup.permissions/aggregate-to-fceaacb4e1c6ac8c-edit",
	} {
		installtest.Same(t, api, want, Edit.forGroups(api))
	}
}

func TestOfGroup(t *testing.T) {
	roles := OfGroup("shop", "og", []string{"Order.v1.example.com", "Bill.v1.example.com", "Order.v1.example.com"})
	edit := roles[1]
	installtest.Same(t, "labels", map[string]string{
		"olm.owner": "og", "olm.owner.namespace": "shop", "olm.owner.kind": "OperatorGroup", "olm.managed": "true",
	}, edit.Labels)
	installtest.None(t, "rules", edit.Rules)
	installtest.Same(t, "aggregation rule", &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
		{MatchLabels: map[string]string{"olm.opgroup.permissions/aggregate-to-5822ba8a803eb7c1-edit": "true"}},
		{MatchLabels: map[string]string{"olm.opgroup.permissions/aggregate-to-c240ce83dfc58050-edit": "true"}},
	}}, edit.AggregationRule)
	if none := OfGroup("shop", "og", nil)[0]; none.AggregationRule != nil {
		t.Errorf("a group without APIs includes %v", none.AggregationRule)
	}
	installtest.None(t, "roles of a group with a long name", OfGroup("shop", strings.Repeat("a", 64), nil))
}

func TestGroupOf(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*rbacv1.ClusterRole)
		want   bool
	}{
		"as created":            {func(*rbacv1.ClusterRole) {}, true},
		"another name":          {func(role *rbacv1.ClusterRole) { role.Name = "cluster-admin" }, false},
		"labels of another one": {func(role *rbacv1.ClusterRole) { role.Labels["olm.owner"] = "other" }, false},
		"not managed":           {func(role *rbacv1.ClusterRole) { delete(role.Labels, "olm.managed") }, false},
		"of another kind":       {func(role *rbacv1.ClusterRole) { role.Labels["olm.owner.kind"] = "ClusterServiceVersion" }, false},
	} {
		role := OfGroup("shop", "og", nil)[2]
		test.change(role)
		_, _, ok := GroupOf(role)
		installtest.Same(t, name, test.want, ok)
	}
	namespace, group, _ := GroupOf(OfGroup("shop", "og", nil)[0])
	installtest.Same(t, "the group", "shop/og", namespace+"/"+group)
}

// OLM v0.46.0 creates the same, except for the kind of the owner, which it misspells.
func TestOfDefinition(t *testing.T) {
	roles := OfDefinition(orders(), "v1")
	installtest.Same(t, "names", []string{
		"orders.example.com-v1-admin", "orders.example.com-v1-edit", "orders.example.com-v1-view", "orders.example.com-v1-crdview",
	}, namesOf(roles))
	owner := metav1.OwnerReference{
		APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "orders.example.com", UID: "uid-of-orders.example.com",
		Controller: new(false), BlockOwnerDeletion: new(false),
	}
	label := func(level string) map[string]string {
		return map[string]string{
			"rbac.authorization.k8s.io/aggregate-to-" + level:                "true",
			"olm.opgroup.permissions/aggregate-to-5822ba8a803eb7c1-" + level: "true",
			"olm.managed": "true",
		}
	}
	for i, want := range []*rbacv1.ClusterRole{
		{ObjectMeta: metav1.ObjectMeta{Labels: label("admin")}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"example.com"}, Resources: []string{"orders"}}}},
		{ObjectMeta: metav1.ObjectMeta{Labels: label("edit")}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"create", "update", "patch", "delete"}, APIGroups: []string{"example.com"}, Resources: []string{"orders"}}}},
		{ObjectMeta: metav1.ObjectMeta{Labels: label("view")}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"example.com"}, Resources: []string{"orders"}}}},
		{ObjectMeta: metav1.ObjectMeta{Labels: label("view")}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: []string{"orders.example.com"}}}},
	} {
		want.Name, want.OwnerReferences = roles[i].Name, []metav1.OwnerReference{owner}
		installtest.Same(t, want.Name, want, roles[i])
	}
}

func TestOfAPIService(t *testing.T) {
	roles := OfAPIService(packages(), "packagemanifests", "PackageManifest")
	installtest.Same(t, "names", []string{"packagemanifests-v1-admin", "packagemanifests-v1-edit", "packagemanifests-v1-view"}, namesOf(roles))
	installtest.Same(t, "rules", []rbacv1.PolicyRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"packages.operators.coreos.com"}, Resources: []string{"packagemanifests"}}}, roles[2].Rules)
	for _, resource := range []string{"", "*", "packagemanifests/icon", "..", "a%b"} {
		installtest.None(t, "roles of resource "+resource, OfAPIService(packages(), resource, "PackageManifest"))
	}
}

func TestAPIOwners(t *testing.T) {
	role := OfDefinition(orders(), "v1")[0]
	olm, service, other := role.OwnerReferences[0], OfAPIService(packages(), "packagemanifests", "PackageManifest")[0].OwnerReferences[0], role.OwnerReferences[0]
	olm.Kind, olm.Name = "customresourcedefinition", "bills.example.com"
	other.APIVersion = "example.com/v1"
	role.OwnerReferences = append(role.OwnerReferences, olm, service, other)
	definitions, services := APIOwners(role)
	installtest.Same(t, "definitions", []string{"orders.example.com", "bills.example.com"}, definitions)
	installtest.Same(t, "APIServices", []string{"v1.packages.operators.coreos.com"}, services)
}
