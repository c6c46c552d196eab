package e2e

import (
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// A webhook goes live without one failed call, and is live when the
// ClusterServiceVersion reports it.
func TestInstallUnderLoad(t *testing.T) {
	t.Parallel()
	mutating := hookCSV("hook.v1", server("hook"))
	mutating.Spec.WebhookDefinitions[0].Type = operatorsv1alpha1.MutatingAdmissionWebhook
	tests := map[string]*operatorsv1alpha1.ClusterServiceVersion{
		"validating":                           hookCSV("hook.v1", server("hook")),
		"mutating":                             mutating,
		"behind an operator that waits for it": hookCSV("hook.v1", server("hook"), waitingOperator("operator")),
	}
	for name, csv := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			allowConfigMaps(e)
			load := e.startLoad()
			e.create(csv)
			live := e.succeeds(csv.Name)
			load.goesOn(denied)
			load.end(uncoveredBefore(live))
		})
	}
}
