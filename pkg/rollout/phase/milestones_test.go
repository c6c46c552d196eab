package phase

import (
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Of several phases in one reconciliation, the last is reported, and each failure, and the end of a wait.
func TestMilestones(t *testing.T) {
	for name, test := range map[string]struct {
		from         Phase
		walked, want []Phase
	}{
		"none":                 {Succeeded, nil, nil},
		"one":                  {Installing, []Phase{Succeeded}, []Phase{Succeeded}},
		"an installation":      {Phase{}, []Phase{Pending, Ready, Installing, Succeeded}, []Phase{Succeeded}},
		"a wait that is over":  {Phase{Reason: operatorsv1alpha1.CSVReasonRequirementsNotMet}, []Phase{Ready, Installing}, []Phase{Ready, Installing}},
		"a failure on the way": {Installing, []Phase{Timeout, Reinstall, Ready}, []Phase{Timeout, Ready}},
		"a failure at the end": {Ready, []Phase{Installing, Timeout}, []Phase{Timeout}},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "milestones", test.want, Milestones(test.from.Reason, test.walked))
		})
	}
}
