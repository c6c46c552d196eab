package integration

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Lists of rules whose combinations no memory holds, in ClusterServiceVersions of a tenant, stop neither the
// manager nor the tenant's neighbours.
func TestRulesOfTooManyCombinations(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	e.manage()

	rules := csv("rules.v1", "rules")
	rules.Spec.WebhookDefinitions[0].Rules = []admissionregistrationv1.RuleWithOperations{rule(items(20_000), items(20_000)...)}
	e.create(rules)
	permissions := csv("permissions.v1", "permissions")
	permissions.Spec.InstallStrategy.StrategySpec.ClusterPermissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{
		ServiceAccountName: "account", Rules: []rbacv1.PolicyRule{{Verbs: items(300), APIGroups: items(300), Resources: items(300), ResourceNames: items(300)}},
	}}
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
	e.create(permissions)

	e.install(csv("operator.v1", "server"))
	e.reachesSaying("rules.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, `spec.webhookdefinitions[0] "v.example.com" name more than 10000 combinations`)
	e.reaches("permissions.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)

	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions[0].Rules = rules.Spec.WebhookDefinitions[0].Rules
	})
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription)
	e.install(csv("other.v1", "other"))
}

// A ClusterServiceVersion that lists one Deployment many times, and many webhooks of it, is reported as it is,
// costs what its text costs, and continues when it is corrected.
func TestDeploymentsOfOneName(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	runOperator(e)

	const many = 800
	before := e.get("operator.v1").Spec
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		deployments := &c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
		for i := range many {
			*deployments = append(*deployments, (*deployments)[0])
			webhook := c.Spec.WebhookDefinitions[0]
			webhook.GenerateName = fmt.Sprintf("v%d.example.com", i)
			c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook)
		}
	})
	e.reachesSaying("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, `spec.install.spec.deployments[0], [1], [2] and 798 more have the name "server"`)
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec = before })
	e.succeeds("operator.v1")
}

// A ClusterServiceVersion with so many webhooks that no WebhookRollout can hold their states still gets its phase.
func TestStatusThatIsTooLarge(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.manage()
	c := csv("operator.v1", "server")
	long := strings.Repeat("long-", 30)
	for i := range 4000 {
		webhook := c.Spec.WebhookDefinitions[0]
		webhook.GenerateName, webhook.Rules, webhook.DeploymentName = fmt.Sprintf("v%d.%sexample.com", i, long), nil, "another"
		c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook)
	}
	e.create(c)
	e.reachesSaying("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "names a Deployment that the ClusterServiceVersion does not have")
}

func items(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("i%d.b", i))
	}
	return all
}
