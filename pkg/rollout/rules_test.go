package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// A new scope is written to a registration when its Namespaces are labelled. Other fields are repaired meanwhile.
func TestScopeChangeOfRegisteredWebhook(t *testing.T) {
	const (
		validating = "apply ValidatingWebhookConfiguration v.manager.example.com: "
		mutating   = "apply MutatingWebhookConfiguration m.example.com: "
	)
	c := installed(t, webhookOf("manager"), webhookOf("manager", mutatingNamed("m.example.com")))
	for _, moment := range []struct {
		when    string
		happens func()
		want    []string
	}{
		{"a Namespace of the new scope has no label", func() {
			c.group.Spec.TargetNamespaces, c.Observed.UnlabelledNamespaces = []string{"red"}, []string{"red"}
		}, nil},
		{"another client changes both policies", func() {
			c.validating("manager").Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
			c.Observed.Mutating[0].Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
		}, []string{validating + `webhooks[name="v.manager.example.com"].failurePolicy`, mutating + `webhooks[name="m.example.com"].failurePolicy`}},
		{"every Namespace has its label", func() {
			c.Observed.UnlabelledNamespaces = nil
		}, []string{validating + `webhooks[name="v.manager.example.com"].namespaceSelector`, mutating + `webhooks[name="m.example.com"].namespaceSelector`}},
		{"nothing changes", func() {}, nil},
	} {
		c.wait(time.Second)
		moment.happens()
		installtest.Same(t, fmt.Sprintf("when %s, steps", moment.when), moment.want, stepsOf(c.reconcile()))
	}
}

// Rules that match nothing are reported until a matching resource is served. They change nothing else.
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
		plan := c.reconcile()
		installtest.None(t, "steps", plan.Steps)
		installtest.None(t, "phases", plan.Phases)
		got := meta.FindStatusCondition(plan.Status.Conditions, managerv1alpha1.ConditionRulesMatchNothing)
		if got == nil {
			return ""
		}
		return string(got.Status) + " " + got.Message
	}
	served("order")
	before := c.Previous
	installtest.Same(t, "the condition", `True webhook v.manager.example.com is not called for spec.webhookdefinitions[0].rules[0]: there is no resource "orders" in API group "shop.example.com"; write "order"`, condition())
	var reported bool
	for _, e := range report.EventsOf(before, c.Previous) {
		reported = reported || e.Warning && e.Reason == managerv1alpha1.ConditionRulesMatchNothing && strings.Contains(e.Message, `write "order"`)
	}
	installtest.Same(t, "an event reports it", true, reported)
	served("orders")
	installtest.Same(t, "the condition after it is served", "", condition())
	c.Observed.Catalog = rules.Catalog{}
	installtest.Same(t, "the condition with an unknown catalog", "", condition())
}
