package integration

import (
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// upgradeStops begins an upgrade whose first Deployment does not become available. The second one is as the previous version left it.
// Both have a budget.
func upgradeStops(t *testing.T) (*env, *manager) {
	t.Helper()
	e := operating(newParallelEnv(t), allNamespaces, "server")
	m := e.manage(func(o *controller.Options) { o.Rollout.OrderTimeout = time.Hour })
	version := func(name, path string) *operatorsv1alpha1.ClusterServiceVersion {
		c := csv(name, "server", "second")
		c.Annotations = withPrefix(map[string]string{"availability-disruption-budget": "minAvailable=1", "availability-replicas": "2", "leader-election": "true"})
		c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("second.example.com", "second"))
		for i := range c.Spec.WebhookDefinitions {
			c.Spec.WebhookDefinitions[i].WebhookPath = &path
		}
		return c
	}
	e.create(version("operator.v1", "/v1"))
	rolledOut(e, "server", "operator.v1", true)
	e.succeeds("operator.v1")
	e.create(replacing("operator.v1", version("operator.v2", "/v2")))
	rolledOut(e, "server", "operator.v2", false)
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	installtest.Same(t, "the owner of the second Deployment", "operator.v1", e.deployment("second").Labels["olm.owner"])
	becomes(e, "both Deployments have a budget", func() []bool { return []bool{hasBudget(e, "server"), hasBudget(e, "second")} }, []bool{true, true})
	return e, m
}

func hasBudget(e *env, deployment string) bool {
	e.Helper()
	return budget(e, deployment+"-webhooks") != nil
}

// The budget of a Deployment that an upgrade has not reached does not block drains, either.
func TestDisruptionBudgetDuringAnUpgradeThatStops(t *testing.T) {
	e, m := upgradeStops(t)
	m.settles("operator.v2")
	installtest.Same(t, "the second Deployment has a budget", true, hasBudget(e, "second"))
	scale(e, "second", 1)
	becomes(e, "the second Deployment, with one replica, has a budget", func() bool { return hasBudget(e, "second") }, false)
	installtest.Same(t, "the first Deployment has a budget", true, hasBudget(e, "server"))
	installtest.Same(t, "the owner of the second Deployment", "operator.v1", e.deployment("second").Labels["olm.owner"])
}

// A budget that two versions own is removed with the manager, too.
func TestDisruptionBudgetIsRemovedWithTheManagerDuringAnUpgrade(t *testing.T) {
	e, m := upgradeStops(t)
	m.stop()
	e.must(uninstall.Manager(e.ctx, installtest.OrPanic(clients.New(cluster.Config())), logger(), e.namespace))
	installtest.Same(t, "the first Deployment has a budget", false, hasBudget(e, "server"))
	installtest.Same(t, "the second Deployment has a budget", false, hasBudget(e, "second"))
}
