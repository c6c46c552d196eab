package integration

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const (
	admission = "admissionregistration.k8s.io"
	olm       = "operators.coreos.com"

	onAllGroups      = "webhook rules cannot include all groups"
	onOLM            = "webhook rules cannot include the OLM group"
	onManager        = "webhook rules cannot include the olm-webhook-manager.io group"
	onConfigurations = "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources"
)

// A webhook that could refuse its own repair is never registered, and its status stays the same.
func TestForbiddenRules(t *testing.T) {
	tests := map[string]struct {
		rule    admissionregistrationv1.RuleWithOperations
		message string
	}{
		"all groups":         {rule([]string{"*"}, "things"), onAllGroups},
		"OLM":                {rule([]string{olm}, "clusterserviceversions"), onOLM},
		"the manager":        {rule([]string{"olm-webhook-manager.io"}, "webhookrollouts"), onManager},
		"registrations, all": {rule([]string{admission}, "*"), onConfigurations},
	}
	e := newOperatorEnv(t)
	m := e.manage()
	var last string
	for name, test := range tests {
		last = resourceName(name)
		c := csv(last, "server")
		c.Spec.WebhookDefinitions[0].Rules = append(c.Spec.WebhookDefinitions[0].Rules, test.rule)
		e.create(c)
		installtest.Prefix(t, name+": the message", test.message, e.reaches(c.Name, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription))
	}
	registersNothing(e)

	m.looksAgain(last) // its status is written by a reconciliation that may still run
	since := auditEnd(e)
	for name := range tests {
		before := e.get(resourceName(name)).Status
		m.looksAgain(resourceName(name))
		if after := e.get(resourceName(name)).Status; !equality.Semantic.DeepEqual(before, after) {
			t.Errorf("%s: status %+v has become %+v", name, before, after)
		}
	}
	m.writesNothing(since)
}

func resourceName(text string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }), "-"))
}

func TestAllowedRules(t *testing.T) {
	e := newOperatorEnv(t)
	e.manage()
	for name, allowed := range map[string]admissionregistrationv1.RuleWithOperations{
		"other-resource":   rule([]string{admission}, "SomeOtherResource"),
		"policies":         rule([]string{admission}, "validatingadmissionpolicybindings/none"),
		"similar-group":    rule([]string{"more.operators.coreos.com"}, "clusterserviceversions"),
		"similar-resource": rule([]string{"apps.example.com"}, "validatingwebhookconfigurations"),
	} {
		c := csv(name, name)
		c.Spec.WebhookDefinitions[0].Rules = []admissionregistrationv1.RuleWithOperations{allowed}
		e.install(c)
	}
}

// What is live stays as it was registered while its ClusterServiceVersion asks for what is forbidden.
func TestInstalledWebhookIsEditedToAForbiddenRule(t *testing.T) {
	e, m := newRunningOperator(t)
	before := e.registration("v.example.com").ResourceVersion

	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions[0].Rules[0].APIGroups = []string{"*"}
	})
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription)
	m.looksAgain("operator.v1")
	same(t, "resourceVersion of the registration", e.registration("v.example.com").ResourceVersion, before)
	if w := webhookStatus(e, "operator.v1", "v.example.com"); w.State != "Registered" || w.Reason != "Held" {
		t.Errorf("the WebhookRollout reports %s/%s, want Registered/Held", w.State, w.Reason)
	}

	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions[0].Rules[0].APIGroups = []string{"mended.example.com"}
	})
	e.succeeds("operator.v1")
	becomes(e, "the repaired rule is registered", func() []string { return e.registration("v.example.com").Webhooks[0].Rules[0].APIGroups }, []string{"mended.example.com"})
}

// Rules that match nothing keep no webhook from being registered. They are reported until what they name is served.
func TestRulesThatMatchNothing(t *testing.T) {
	e := newOperatorEnv(t)
	m := e.manage()
	group := e.namespace + ".ponds.example.com"
	c := csv("operator.v1", "server")
	c.Spec.WebhookDefinitions[0].Rules[0] = rule([]string{"", "apps"}, "Namespace", "deploymets", "podtemplates/status")
	c.Spec.WebhookDefinitions[0].Rules = append(c.Spec.WebhookDefinitions[0].Rules, rule([]string{"app"}, "deployments"), rule([]string{group}, "ponds"))
	e.install(c)
	said := func() string {
		condition := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionRulesMatchNothing)
		if condition == nil {
			return ""
		}
		return condition.Message
	}
	for _, words := range []string{
		`spec.webhookdefinitions[0].rules[0]: there is no resource "Namespace" in the core API group, API group "apps"; write its plural, "namespaces"`,
		`there is no resource "deploymets" in the core API group, API group "apps"; write "deployments"`,
		`there is no resource "podtemplates/status"`,
		`spec.webhookdefinitions[0].rules[1]: API group "app" is not served; write "apps" in apiGroups`,
		`spec.webhookdefinitions[0].rules[2]: API group "` + group + `" is not served`,
	} {
		e.eventually("the WebhookRollout reports: "+words, func() (bool, any) { return strings.Contains(said(), words), said() })
	}
	m.emits("Warning RulesMatchNothing")

	define(e, group, "v1")
	e.eventually("what is served now is not reported any more", func() (bool, any) { return !strings.Contains(said(), "ponds"), said() })
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions[0].Rules = c.Spec.WebhookDefinitions[0].Rules[2:]
	})
	e.eventually("nothing is reported", func() (bool, any) { return said() == "", said() })
}
