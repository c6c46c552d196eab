package install

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// someCatalog has a few resources of Kubernetes, a CustomResourceDefinition, and a version of which
// nothing is known.
func someCatalog() Catalog {
	c := Catalog{Closed: true, Names: []string{"batch", "policy"}}
	core, apps := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "apps", Version: "v1"}
	c.Add(core, []Resource{
		{"pods", core.WithKind("Pod"), Namespaced}, {"pods/status", core.WithKind("Pod"), Namespaced},
		{"pods/binding", core.WithKind("Binding"), Namespaced}, {"namespaces", core.WithKind("Namespace"), ClusterScoped},
	})
	c.Add(apps, []Resource{{"deployments", apps.WithKind("Deployment"), Namespaced}})
	c.Add(schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1"}, nil)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Scope = "shop.example.com", apiextensionsv1.NamespaceScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "orders", Kind: "Order"}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{
		{Name: "v1", Served: true, Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}},
		{Name: "v1alpha1"},
	}
	c.AddDefinition(crd)
	return c
}

func ruleOn(groups, versions, resources []string, scope ...admissionregistrationv1.ScopeType) admissionregistrationv1.RuleWithOperations {
	rule := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: groups, APIVersions: versions, Resources: resources},
	}
	if len(scope) > 0 {
		rule.Scope = &scope[0]
	}
	return rule
}

func TestUnmatchedRules(t *testing.T) {
	type names = []string
	core, v1 := names{""}, names{"v1"}
	for name, test := range map[string]struct {
		rule admissionregistrationv1.RuleWithOperations
		want []string
	}{
		"pods":                           {ruleOn(core, v1, names{"pods"}), nil},
		"a subresource":                  {ruleOn(core, v1, names{"pods/binding"}), nil},
		"everything":                     {ruleOn(core, names{"*"}, names{"*"}), nil},
		"everything and below":           {ruleOn(core, v1, names{"*/*"}), nil},
		"every status":                   {ruleOn(core, v1, names{"*/status"}), nil},
		"one of two groups":              {ruleOn(names{"", "apps"}, v1, names{"pods", "deployments"}), nil},
		"one of two versions":            {ruleOn(names{"apps"}, names{"v1beta1", "v1"}, names{"deployments"}), nil},
		"a group that was, and its heir": {ruleOn(names{"extensions", "apps"}, names{"*"}, names{"deployments"}), nil},
		"a custom resource":              {ruleOn(names{"shop.example.com"}, v1, names{"orders", "orders/status"}), nil},
		"what another server answers":    {ruleOn(names{"metrics.k8s.io"}, v1, names{"whatever"}), nil},
		"every group":                    {ruleOn(names{"*"}, v1, names{"whatever"}), nil},
		"nothing at all":                 {ruleOn(nil, nil, names{"pods"}), nil},

		"a kind":                   {ruleOn(core, v1, names{"Namespace"}), []string{`there is no resource "Namespace" in the core API group; write its plural, "namespaces"`}},
		"a singular":               {ruleOn(core, v1, names{"pods", "namespace"}), []string{`there is no resource "namespace" in the core API group; write its plural, "namespaces"`}},
		"the kind and a status":    {ruleOn(core, v1, names{"Pod/status"}), []string{`there is no resource "Pod/status" in the core API group; write its plural, "pods/status"`}},
		"a slip":                   {ruleOn(names{"apps"}, v1, names{"deploymets"}), []string{`there is no resource "deploymets" in API group "apps"; write "deployments"`}},
		"a slip below":             {ruleOn(core, v1, names{"pods/bindings"}), []string{`there is no resource "pods/bindings" in the core API group; write "pods/binding"`}},
		"far from everything":      {ruleOn(core, v1, names{"things"}), []string{`there is no resource "things" in the core API group; correct the name (kubectl api-resources lists them), or install what serves it`}},
		"a group's slip":           {ruleOn(names{"app"}, v1, names{"deployments"}), []string{`API group "app" is not served; write "apps" in apiGroups`}},
		"another group's slip":     {ruleOn(names{"bacth"}, v1, names{"jobs"}), []string{`API group "bacth" is not served; write "batch" in apiGroups`}},
		"the core group by a name": {ruleOn(names{"core"}, v1, names{"pods"}), []string{`API group "core" is not served; write "" in apiGroups, which is the core API group`}},
		"a group of nobody":        {ruleOn(names{"till.example.org"}, v1, names{"tills"}), []string{`API group "till.example.org" is not served; correct apiGroups, or install what serves it`}},
		"another version":          {ruleOn(names{"apps"}, names{"v1beta1"}, names{"deployments"}), []string{`"deployments" of API group "apps" is not served in v1beta1; add to apiVersions one that is served: v1`}},
		"a version not served":     {ruleOn(names{"shop.example.com"}, names{"v1alpha1"}, names{"orders"}), []string{`"orders" of API group "shop.example.com" is not served in v1alpha1; add to apiVersions one that is served: v1`}},
		"another scope":            {ruleOn(core, v1, names{"pods"}, admissionregistrationv1.ClusterScope), []string{`no "pods" has the scope Cluster; remove scope from the rule`}},
		"no scale":                 {ruleOn(names{"shop.example.com"}, v1, names{"orders/scale"}), []string{`there is no resource "orders/scale" in API group "shop.example.com"; correct the name (kubectl api-resources lists them), or install what serves it`}},
		"two mistakes":             {ruleOn(core, v1, names{"Pod", "Namespace"}), []string{`there is no resource "Pod" in the core API group; write its plural, "pods"`, `there is no resource "Namespace" in the core API group; write its plural, "namespaces"`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, u := range UnmatchedRules(operatorsv1alpha1.WebhookDescription{Rules: []admissionregistrationv1.RuleWithOperations{test.rule}}, someCatalog()) {
				got = append(got, u.What+"; "+u.WayOut)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Where the names of groups are not all known, nothing is said of those that are not.
func TestGroupsThatAreNotKnown(t *testing.T) {
	c := someCatalog()
	c.Closed = false
	d := operatorsv1alpha1.WebhookDescription{Rules: []admissionregistrationv1.RuleWithOperations{
		ruleOn([]string{"till.example.org"}, []string{"v1"}, []string{"tills"}), ruleOn([]string{""}, []string{"v1"}, []string{"Pod"}),
	}}
	if got := UnmatchedRules(d, c); len(got) != 1 || got[0].Rule != 1 {
		t.Errorf("got %+v", got)
	}
}
