package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
	return installtest.Times(n, func(i int) string { return fmt.Sprintf("i%d.b", i) })
}

// huge is a quantity that Kubernetes' library decodes for hours. OLM's definitions allow it.
const huge = "1.00000000000000000000000000000001e1000000000"

// A quantity that takes hours to decode, in a ClusterServiceVersion or a Subscription of a tenant, stops
// neither the manager nor the tenant's neighbours, and is refused like any other that is not possible.
func TestQuantityThatTakesHoursToDecode(t *testing.T) {
	e := newOwnNamespaceEnv(t)

	before := csv("before.v1", "before")
	createHuge(e, operatorsv1alpha1.ClusterServiceVersionKind, before, "spec", "install", "spec", "deployments", "0", "spec", "template", "spec", "containers", "0", "resources", "limits", "memory")
	configured := csv("configured.v1", "configured")
	createHuge(e, operatorsv1alpha1.SubscriptionKind, &operatorsv1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Name: "configured"},
		Spec:       &operatorsv1alpha1.SubscriptionSpec{Package: "configured", StartingCSV: "configured.v1"},
	}, "spec", "config", "resources", "limits", "memory")
	e.create(configured)

	e.manage() // It lists both.
	e.install(csv("operator.v1", "server"))
	after := csv("after.v1", "after") // It is watched.
	createHuge(e, operatorsv1alpha1.ClusterServiceVersionKind, after, "spec", "install", "spec", "deployments", "0", "spec", "template", "spec", "containers", "0", "resources", "limits", "memory")
	for _, name := range []string{"before.v1", "configured.v1", "after.v1"} {
		e.reachesSaying(name, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonComponentFailed, "spec.template.spec.containers[0].resources.limits[memory]")
	}
}

// createHuge creates an object with the quantity at a path. It is deleted after the test.
func createHuge(e *env, kind string, o runtime.Object, path ...string) {
	e.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	e.must(err)
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(operatorsv1alpha1.SchemeGroupVersion.WithKind(kind))
	object.SetNamespace(e.namespace)
	setQuantity(object.Object, path)
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	client := e.any.Resource(resource).Namespace(e.namespace)
	_, err = client.Create(e.ctx, object, metav1.CreateOptions{})
	e.must(err)
	e.Cleanup(func() { e.must(client.Delete(context.WithoutCancel(e.ctx), object.GetName(), metav1.DeleteOptions{})) })
}

func setQuantity(at any, path []string) {
	switch at := at.(type) {
	case []any:
		setQuantity(at[0], path[1:])
	case map[string]any:
		if len(path) == 1 {
			at[path[0]] = huge
			return
		}
		if at[path[0]] == nil {
			at[path[0]] = map[string]any{}
		}
		setQuantity(at[path[0]], path[1:])
	}
}
