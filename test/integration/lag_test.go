package integration

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// An operator without webhooks is Succeeded before the manager has reconciled another config,
// and while its pods are replaced: its Deployments report whether it has, to every reader.
func TestCommandsWaitForDeploymentsWithoutWebhooks(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{})
	m := e.manage()
	c := csv("operator.v1", "server")
	c.Spec.WebhookDefinitions = nil
	e.install(c)
	same(t, "the lag of an installed one", lag(e), nil)

	m.stop()
	reconfigure(e, func(config *operatorsv1alpha1.SubscriptionConfig) {
		config.Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
	})
	e.succeeds("operator.v1")
	if lag := lag(e); lag == nil || !lag.Unobserved {
		t.Errorf("no manager has observed its config, and it lags: %+v", lag)
	}
	e.manage()
	e.eventually("it lags no more", func() (bool, any) { lag := lag(e); return lag == nil, lag })
	if env := e.deployment("server").Spec.Template.Spec.Containers[0].Env; len(env) == 0 || env[0].Name != "A" {
		t.Errorf("it has the variables %+v", env)
	}
}

func lag(e *env) *deploy.PendingDeployment {
	e.Helper()
	subscription := kube.Get(e, e.olm.Subscriptions(e.namespace), "operator")
	return deploy.FirstPendingDeployment(e.get("operator.v1"), subscription, map[string]*appsv1.Deployment{"server": e.deployment("server")})
}
