package rules_test

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

func TestReachOf(t *testing.T) {
	shop := &apiextensionsv1.CustomResourceDefinition{}
	shop.Spec.Group, shop.Spec.Names.Plural, shop.Spec.Scope = "shop.example.com", "shops", apiextensionsv1.ClusterScoped
	orders := &apiextensionsv1.CustomResourceDefinition{}
	orders.Spec.Group, orders.Spec.Names.Plural, orders.Spec.Scope = "shop.example.com", "orders", apiextensionsv1.NamespaceScoped

	for name, test := range map[string]struct {
		group     string
		resources []string
		scope     *admissionregistrationv1.ScopeType
		want      rules.Reach
	}{
		"built in":                        {"apps", []string{"deployments", "deployments/scale"}, nil, rules.Reach{Namespaced: []string{"deployments.apps", "deployments.apps/scale"}}},
		"core":                            {"", []string{"pods", "nodes"}, nil, rules.Reach{Namespaced: []string{"pods"}, ClusterScoped: []string{"nodes"}, Escaping: []string{"nodes"}}},
		"Namespaces":                      {"", []string{"namespaces"}, nil, rules.Reach{Namespaces: true}},
		"Namespaces, of narrow scope":     {"", []string{"namespaces"}, new(admissionregistrationv1.NamespacedScope), rules.Reach{}},
		"all of core":                     {"", []string{"*"}, nil, rules.Reach{Namespaces: true, Unknown: []string{"*"}, Escaping: []string{"nodes", "persistentvolumes"}}},
		"all of core in namespaces":       {"", []string{"*"}, new(admissionregistrationv1.NamespacedScope), rules.Reach{Namespaced: []string{"*"}}},
		"the states of all of core":       {"", []string{"*/status"}, nil, rules.Reach{Namespaces: true, Unknown: []string{"*/status"}, Escaping: []string{"nodes/status", "persistentvolumes/status"}}},
		"all of a group":                  {"node.k8s.io", []string{"*/*"}, nil, rules.Reach{Unknown: []string{"*.node.k8s.io/*"}, Escaping: []string{"runtimeclasses.node.k8s.io"}}},
		"all of a group, in no namespace": {"node.k8s.io", []string{"*"}, new(admissionregistrationv1.ClusterScope), rules.Reach{ClusterScoped: []string{"*.node.k8s.io"}, Escaping: []string{"runtimeclasses.node.k8s.io"}}},
		"all of a group of namespaces":    {"apps", []string{"*"}, nil, rules.Reach{Unknown: []string{"*.apps"}}},
		"all of a custom group":           {"shop.example.com", []string{"*"}, new(admissionregistrationv1.ClusterScope), rules.Reach{ClusterScoped: []string{"*.shop.example.com"}, Escaping: []string{"*.shop.example.com"}}},
		"custom resources":                {"shop.example.com", []string{"shops", "orders"}, nil, rules.Reach{Namespaced: []string{"orders.shop.example.com"}, ClusterScoped: []string{"shops.shop.example.com"}, Escaping: []string{"shops.shop.example.com"}}},
		"custom resources, undefined":     {"other.example.com", []string{"things"}, nil, rules.Reach{Unknown: []string{"things.other.example.com"}}},
		"undefined, by the rule's own":    {"other.example.com", []string{"things"}, new(admissionregistrationv1.ClusterScope), rules.Reach{ClusterScoped: []string{"things.other.example.com"}, Escaping: []string{"things.other.example.com"}}},
	} {
		t.Run(name, func(t *testing.T) {
			rule := installtest.RuleOf([]string{test.group}, test.resources)
			rule.Scope = test.scope
			installtest.Same(t, "reach", test.want, rules.ReachOf(rule, shop, orders))
		})
	}
}
