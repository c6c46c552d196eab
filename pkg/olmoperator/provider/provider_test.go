package provider

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func rule(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{resource}, Verbs: verbs}
}

func TestProvides(t *testing.T) {
	everything := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	named := rule("orders", "list", "watch", "update")
	named.ResourceNames = []string{"one"}
	for name, test := range map[string]struct {
		annotations map[string]string
		rules       []rbacv1.PolicyRule
		want        bool
	}{
		"a claim alone": {want: false},
		"a catalog installed it with this version":        {annotations: map[string]string{"operatorframework.io/installed-alongside-1": "shop/shop.v1"}, want: true},
		"a catalog installed it with another version":     {annotations: map[string]string{"operatorframework.io/installed-alongside-1": "shop/shop.v0"}, want: false},
		"a catalog installed it in another namespace":     {annotations: map[string]string{"operatorframework.io/installed-alongside-1": "blue/shop.v1"}, want: false},
		"another annotation has that value":               {annotations: map[string]string{"example.com/installed-alongside-1": "shop/shop.v1"}, want: false},
		"bundle install created it for the namespace":     {annotations: map[string]string{"olm-webhook-manager.io/installation": "shop/shop"}, want: true},
		"bundle install created it for another namespace": {annotations: map[string]string{"olm-webhook-manager.io/installation": "blue/shop"}, want: false},
		"an installation without a package":               {annotations: map[string]string{"olm-webhook-manager.io/installation": "shop"}, want: false},
		"its account may do everything":                   {rules: []rbacv1.PolicyRule{everything}, want: true},
		"its account reads and updates":                   {rules: []rbacv1.PolicyRule{rule("orders", "list", "watch"), rule("orders", "update")}, want: true},
		"its account reads and writes the status":         {rules: []rbacv1.PolicyRule{rule("orders", "get", "list", "watch"), rule("orders/status", "patch")}, want: true},
		"its account reads only":                          {rules: []rbacv1.PolicyRule{rule("orders", "get", "list", "watch")}, want: false},
		"its account writes only":                         {rules: []rbacv1.PolicyRule{rule("orders", "create", "update", "patch", "delete")}, want: false},
		"its account does not watch":                      {rules: []rbacv1.PolicyRule{rule("orders", "get", "list", "update")}, want: false},
		"its account may delete them":                     {rules: []rbacv1.PolicyRule{rule("orders", "list", "watch", "delete")}, want: false},
		"its account may change one object":               {rules: []rbacv1.PolicyRule{named}, want: false},
		"its account manages another kind":                {rules: []rbacv1.PolicyRule{rule("invoices", "list", "watch", "update")}, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil)
			crd := installtest.Definition("orders.example.com", func(crd *apiextensionsv1.CustomResourceDefinition) {
				crd.Annotations = test.annotations
				crd.Spec.Group, crd.Spec.Names.Plural = "example.com", "orders"
			})
			installtest.Same(t, "it provides orders", test.want, Provides(csv, crd, func() map[string][]rbacv1.PolicyRule {
				return map[string][]rbacv1.PolicyRule{"other": nil, "account": test.rules}
			}))
		})
	}
}

// Two accounts that together could manage the objects are no operator of them.
func TestProvidesWithTwoAccounts(t *testing.T) {
	crd := installtest.Definition("orders.example.com", func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Group, crd.Spec.Names.Plural = "example.com", "orders"
	})
	everywhere := func() map[string][]rbacv1.PolicyRule {
		return map[string][]rbacv1.PolicyRule{"reader": {rule("orders", "list", "watch")}, "writer": {rule("orders", "update")}}
	}
	installtest.Same(t, "it provides orders", false, Provides(installtest.Operator(nil), crd, everywhere))
}

func TestHasProvided(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*operatorsv1alpha1.ClusterServiceVersion)
		want   bool
	}{
		"installed": {func(*operatorsv1alpha1.ClusterServiceVersion) {}, true},
		"failed": {func(csv *operatorsv1alpha1.ClusterServiceVersion) {
			csv.Status.Phase = operatorsv1alpha1.CSVPhaseFailed
		}, false},
		"deleted": {func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.DeletionTimestamp = &metav1.Time{} }, false},
		"a copy": {func(csv *operatorsv1alpha1.ClusterServiceVersion) {
			csv.Labels = map[string]string{operatorsv1alpha1.CopiedLabelKey: "blue"}
		}, false},
	} {
		csv := installtest.Operator(nil)
		csv.Status.Phase = operatorsv1alpha1.CSVPhaseSucceeded
		test.change(csv)
		installtest.Same(t, name, test.want, HasProvided(csv))
	}
}
