package integration

import (
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

func TestInstall(t *testing.T) {
	e := newEnv(t)
	e.group("og", operatorsv1.OperatorGroupSpec{})
	e.runDeployments()
	e.manage()
	e.create(csv("operator.v1", "server"))
	e.succeeds("operator.v1")
	if got := e.rollout("operator.v1").Ready; got != "1/1" {
		t.Errorf("WebhookRollout says %q, want 1/1", got)
	}
}
