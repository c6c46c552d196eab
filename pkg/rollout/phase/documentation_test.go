package phase

import (
	"os"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// scopeReasons are the reasons of a ClusterServiceVersion without a valid OperatorGroup (package scope).
var scopeReasons = []operatorsv1alpha1.ConditionReason{
	operatorsv1alpha1.CSVReasonNoOperatorGroup,
	operatorsv1alpha1.CSVReasonTooManyOperatorGroups,
	operatorsv1alpha1.CSVReasonNoTargetNamespaces,
	operatorsv1alpha1.CSVReasonInvalidInstallModes,
	operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup,
	operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict,
	operatorsv1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs,
}

// The table of phases names each phase with each of its reasons.
func TestPhasesAreDocumented(t *testing.T) {
	page := installtest.OrPanic(os.ReadFile("../../../docs/admin/troubleshoot.md"))
	_, table, _ := strings.Cut(string(page), "\n## Phases of a ClusterServiceVersion\n")
	table, _, _ = strings.Cut(table, "\n## ")
	documented := func(phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason) bool {
		for row := range strings.Lines(table) {
			if cells := strings.Split(row, " | "); len(cells) > 2 && cells[0] == "| "+string(phase) && strings.Contains(cells[1], string(reason)) {
				return true
			}
		}
		return false
	}
	phases := []Phase{
		Pending, Unmet, Lost, Reinstall, Ready, Installing, Waiting, Unavailable, Succeeded, Invalid, Conflict, Refused, Timeout, Unhealthy,
		NotUpgradeable, Replacing, FailingForward, Replaced, {Phase: operatorsv1alpha1.CSVPhaseDeleting, Reason: managerv1alpha1.ConditionConversionInUse},
		{Phase: operatorsv1alpha1.CSVPhaseDeleting, Reason: managerv1alpha1.ConditionUnregistrationRefused},
	}
	for _, reason := range scopeReasons {
		phases = append(phases, Phase{Phase: operatorsv1alpha1.CSVPhaseFailed, Reason: reason})
	}
	for _, p := range phases {
		if !documented(p.Phase, p.Reason) {
			t.Errorf("docs/admin/troubleshoot.md has no row for phase %s with reason %s", p.Phase, p.Reason)
		}
	}
}
