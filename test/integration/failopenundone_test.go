package integration

import (
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// The webhook is open under operator.v1, and then under operator.v2, which is deleted before it has succeeded. The record of
// operator.v1 has both openings.
func TestFailOpenRecordOfAnUndoneUpgrade(t *testing.T) {
	b := newBackendIn(newOperatorEnv(t, "last"), map[string]string{"fail-open-after": "30s"})
	openings := func(version string) []managerv1alpha1.Opening {
		if record := webhookStatus(b.env, version, "v.example.com").FailOpen; record != nil && !record.IsOpen() {
			return record.Openings
		}
		return nil
	}
	b.goes()
	b.is(partly)
	b.comes()
	b.is(closed)
	first := b.opening(0)

	next := replacing("operator.v1", csv("operator.v2", "server", "last"))
	next.Spec.WebhookDefinitions = b.get("operator.v1").Spec.WebhookDefinitions
	b.create(next)
	b.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	b.eventually("operator.v2 continues the record", func() (bool, any) { got := openings("operator.v2"); return len(got) == 1, got })
	b.eventually("operator.v1 keeps it", func() (bool, any) {
		kept := b.rollout("operator.v1").KeptOpenings
		return len(kept) == 1 && len(kept[0].FailOpen.Openings) == 1, kept
	})
	b.goes()
	b.eventually("operator.v2 opens the webhook", func() (bool, any) {
		record := webhookStatus(b.env, "operator.v2", "v.example.com").FailOpen
		return record.IsOpen(), record
	})
	b.comes()
	b.eventually("operator.v2 closes it", func() (bool, any) { got := openings("operator.v2"); return len(got) == 2, got })
	second := openings("operator.v2")[1]

	b.uninstall("operator.v2")
	b.eventually("operator.v1 continues the record", func() (bool, any) { got := openings("operator.v1"); return len(got) == 2, got })
	same(t, "the openings", openings("operator.v1"), []managerv1alpha1.Opening{first, second})
	same(t, "what is kept apart", len(b.rollout("operator.v1").KeptOpenings), 0)
}
