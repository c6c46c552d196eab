package render

import (
	"fmt"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// Repetitions of a Deployment are reported once and rendered once: otherwise each would have all its webhooks.
func TestDeploymentsOfOneName(t *testing.T) {
	var repeated []operatorsv1alpha1.StrategyDeploymentSpec
	for range 5000 {
		repeated = append(repeated, installtest.DeploymentOf("manager"))
	}
	csv := installtest.Operator(installtest.Deployments(append(repeated, installtest.DeploymentOf("other"))...), installtest.ServedBy("manager"))
	for i := range 5000 {
		d := csv.Spec.WebhookDefinitions[0]
		d.GenerateName = fmt.Sprintf("v%d.example.com", i)
		csv.Spec.WebhookDefinitions = append(csv.Spec.WebhookDefinitions, d)
	}
	if rendered := Objects(inputOf(csv)).Deployments; len(rendered) != 2 || len(rendered[0].Webhooks) != 5001 {
		t.Errorf("%d Deployments, the first with %d webhooks", len(rendered), len(rendered[0].Webhooks))
	}
	const unmet = `Deployment manager: spec.install.spec.deployments[0], [1], [2] and 4997 more have the name "manager": give each its own`
	if verdict := requirements.Check(requirements.Facts{CSV: csv}); verdict.Unmet() != unmet {
		t.Errorf("unmet %q", verdict.Unmet())
	}
}
