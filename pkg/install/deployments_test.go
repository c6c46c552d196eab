package install

import (
	"fmt"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Repetitions of a Deployment are reported once and rendered once: otherwise each would have all its webhooks.
func TestDeploymentsOfOneName(t *testing.T) {
	var repeated []operatorsv1alpha1.StrategyDeploymentSpec
	for range 5000 {
		repeated = append(repeated, deploymentOf("manager"))
	}
	csv := operator(deployments(append(repeated, deploymentOf("other"))...), servedBy("manager"))
	for i := range 5000 {
		d := csv.Spec.WebhookDefinitions[0]
		d.GenerateName = fmt.Sprintf("v%d.example.com", i)
		csv.Spec.WebhookDefinitions = append(csv.Spec.WebhookDefinitions, d)
	}
	if rendered := Render(inputOf(csv)).Deployments; len(rendered) != 2 || len(rendered[0].Webhooks) != 5001 {
		t.Errorf("%d Deployments, the first with %d webhooks", len(rendered), len(rendered[0].Webhooks))
	}
	const unmet = `Deployment manager: spec.install.spec.deployments[0], [1], [2] and 4997 more have the name "manager": give each its own`
	if verdict := Check(Facts{CSV: csv}); verdict.Unmet() != unmet {
		t.Errorf("unmet %q", verdict.Unmet())
	}
}
