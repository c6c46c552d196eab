package rules_test

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

func TestUnmatchedRules(t *testing.T) {
	type names = []string
	core, v1 := names{""}, names{"v1"}
	for name, test := range map[string]struct {
		rule admissionregistrationv1.RuleWithOperations
		want []string
	}{
		"pods":                                {installtest.RuleOn(core, v1, names{"pods"}), nil},
		"a subresource":                       {installtest.RuleOn(core, v1, names{"pods/binding"}), nil},
		"everything":                          {installtest.RuleOn(core, names{"*"}, names{"*"}), nil},
		"everything and below":                {installtest.RuleOn(core, v1, names{"*/*"}), nil},
		"every status":                        {installtest.RuleOn(core, v1, names{"*/status"}), nil},
		"one of two groups":                   {installtest.RuleOn(names{"", "apps"}, v1, names{"pods", "deployments"}), nil},
		"one of two versions":                 {installtest.RuleOn(names{"apps"}, names{"v1beta1", "v1"}, names{"deployments"}), nil},
		"a group that was, and its successor": {installtest.RuleOn(names{"extensions", "apps"}, names{"*"}, names{"deployments"}), nil},
		"a custom resource":                   {installtest.RuleOn(names{"shop.example.com"}, v1, names{"orders", "orders/status"}), nil},
		"what another server answers":         {installtest.RuleOn(names{"metrics.k8s.io"}, v1, names{"whatever"}), nil},
		"every group":                         {installtest.RuleOn(names{"*"}, v1, names{"whatever"}), nil},
		"nothing at all":                      {installtest.RuleOn(nil, nil, names{"pods"}), nil},

		"a kind":                     {installtest.RuleOn(core, v1, names{"Namespace"}), []string{`there is no resource "Namespace" in the core API group; write its plural, "namespaces"`}},
		"a singular":                 {installtest.RuleOn(core, v1, names{"pods", "namespace"}), []string{`there is no resource "namespace" in the core API group; write its plural, "namespaces"`}},
		"the kind and a status":      {installtest.RuleOn(core, v1, names{"Pod/status"}), []string{`there is no resource "Pod/status" in the core API group; write its plural, "pods/status"`}},
		"a slip":                     {installtest.RuleOn(names{"apps"}, v1, names{"deploymets"}), []string{`there is no resource "deploymets" in API group "apps"; write "deployments"`}},
		"a slip below":               {installtest.RuleOn(core, v1, names{"pods/bindings"}), []string{`there is no resource "pods/bindings" in the core API group; write "pods/binding"`}},
		"far from everything":        {installtest.RuleOn(core, v1, names{"things"}), []string{`there is no resource "things" in the core API group; correct the name (kubectl api-resources lists them), or install what serves it`}},
		"a group's slip":             {installtest.RuleOn(names{"app"}, v1, names{"deployments"}), []string{`API group "app" is not served; write "apps" in apiGroups`}},
		"another group's slip":       {installtest.RuleOn(names{"bacth"}, v1, names{"jobs"}), []string{`API group "bacth" is not served; write "batch" in apiGroups`}},
		"the core group by a name":   {installtest.RuleOn(names{"core"}, v1, names{"pods"}), []string{`API group "core" is not served; write "" in apiGroups, which is the core API group`}},
		"a group that is not served": {installtest.RuleOn(names{"till.example.org"}, v1, names{"tills"}), []string{`API group "till.example.org" is not served; correct apiGroups, or install what serves it`}},
		"another version":            {installtest.RuleOn(names{"apps"}, names{"v1beta1"}, names{"deployments"}), []string{`"deployments" of API group "apps" is not served in v1beta1; add to apiVersions one that is served: v1`}},
		"a version not served":       {installtest.RuleOn(names{"shop.example.com"}, names{"v1alpha1"}, names{"orders"}), []string{`"orders" of API group "shop.example.com" is not served in v1alpha1; add to apiVersions one that is served: v1`}},
		"another scope":              {installtest.RuleOn(core, v1, names{"pods"}, admissionregistrationv1.ClusterScope), []string{`no "pods" has the scope Cluster; remove scope from the rule`}},
		"no scale":                   {installtest.RuleOn(names{"shop.example.com"}, v1, names{"orders/scale"}), []string{`there is no resource "orders/scale" in API group "shop.example.com"; correct the name (kubectl api-resources lists them), or install what serves it`}},
		"two mistakes":               {installtest.RuleOn(core, v1, names{"Pod", "Namespace"}), []string{`there is no resource "Pod" in the core API group; write its plural, "pods"`, `there is no resource "Namespace" in the core API group; write its plural, "namespaces"`}},
	} {
		t.Run(name, func(t *testing.T) {
			description := operatorsv1alpha1.WebhookDescription{Rules: []admissionregistrationv1.RuleWithOperations{test.rule}}
			got := lists.Map(rules.Mismatches(description, installtest.SomeCatalog()), func(u rules.Mismatch) string { return u.What + "; " + u.WayOut })
			installtest.Same(t, "(-want +got)", test.want, got)
		})
	}
}

// Where the names of groups are not all known, nothing is reported about unknown ones.
func TestGroupsThatAreNotKnown(t *testing.T) {
	c := installtest.SomeCatalog()
	c.Closed = false
	d := operatorsv1alpha1.WebhookDescription{Rules: []admissionregistrationv1.RuleWithOperations{
		installtest.RuleOn([]string{"till.example.org"}, []string{"v1"}, []string{"tills"}), installtest.RuleOn([]string{""}, []string{"v1"}, []string{"Pod"}),
	}}
	installtest.Same(t, "rules that match nothing", []int{1}, lists.Map(rules.Mismatches(d, c), func(m rules.Mismatch) int { return m.Rule }))
}
