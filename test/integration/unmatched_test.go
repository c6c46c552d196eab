package integration

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Rules that match nothing keep no webhook from being registered. They are reported until what
// they name is served.
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
