package rollout

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// Rules that match nothing are reported, change nothing else, and are reported no longer once
// what they name is served.
func TestRulesMatchNothing(t *testing.T) {
	c := installed(t, webhookOf("manager")) // its rule names orders of shop.example.com
	version := schema.GroupVersion{Group: "shop.example.com", Version: "v1"}
	served := func(names ...string) {
		c.Observed.Catalog = rules.Catalog{Closed: true}
		resources := []rules.Resource{}
		for _, name := range names {
			resources = append(resources, rules.Resource{Name: name, Kind: version.WithKind("Order"), Extent: rules.Namespaced})
		}
		c.Observed.Catalog.Add(version, resources)
	}
	condition := func() string {
		t.Helper()
		plan := c.pass()
		if len(plan.Steps)+len(plan.Phases) > 0 {
			t.Errorf("the pass does %q and goes through %q", stepsOf(plan), phasesOf(plan))
		}
		said := meta.FindStatusCondition(plan.Status.Conditions, managerv1alpha1.ConditionRulesMatchNothing)
		if said == nil {
			return ""
		}
		return string(said.Status) + " " + said.Message
	}
	served("order")
	before := c.Previous
	if said := condition(); said != `True webhook v.manager.example.com is not called for spec.webhookdefinitions[0].rules[0]: there is no resource "orders" in API group "shop.example.com"; write "order"` {
		t.Errorf("said is %q", said)
	}
	var told bool
	for _, e := range report.EventsOf(before, c.Previous) {
		told = told || e.Warning && e.Reason == managerv1alpha1.ConditionRulesMatchNothing && strings.Contains(e.Message, `write "order"`)
	}
	if !told {
		t.Error("no event says it")
	}
	served("orders")
	if said := condition(); said != "" {
		t.Errorf("once it is served, said is %q", said)
	}
	c.Observed.Catalog = rules.Catalog{}
	if said := condition(); said != "" {
		t.Errorf("where nothing is known, said is %q", said)
	}
}
