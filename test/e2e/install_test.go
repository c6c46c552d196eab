package e2e

import (
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// A webhook goes live without one failed call, and is live when the
// ClusterServiceVersion says so.
func TestInstallUnderLoad(t *testing.T) {
	tests := map[string][]operatorsv1alpha1.StrategyDeploymentSpec{
		"alone":                                nil,
		"behind an operator that waits for it": {waitingOperator("operator")},
	}
	for name, before := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.allowConfigMaps()
			load := e.startLoad()
			e.create(hookCSV("hook.v1", server("hook"), before...))
			live := e.succeeds("hook.v1")
			seen := load.denials()
			e.eventually("a hundred more calls are denied", func() (bool, any) {
				now := load.denials()
				return now >= seen+100, now
			})
			load.judge(e, live)
		})
	}
}
