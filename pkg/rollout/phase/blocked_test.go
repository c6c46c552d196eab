package phase

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// A blocked deletion is written once, and again with another cause.
func TestDeletionBlocked(t *testing.T) {
	csv, now := &operatorsv1alpha1.ClusterServiceVersion{}, metav1.NewTime(noon)
	for _, test := range []struct {
		inUse string
		want  int
	}{{"things are in use", 1}, {"things are in use", 0}, {NamespaceDeleted("things are in use"), 1}, {NamespaceDeleted("things are in use"), 0}} {
		phases := DeletionBlocked(csv.Status, managerv1alpha1.ConditionConversionInUse, test.inUse, "")
		if len(phases) != test.want {
			t.Fatalf("phases %v after %q", phases, csv.Status.Message)
		}
		for _, p := range phases {
			csv.SetPhase(p.Phase, p.Reason, p.Message, &now)
		}
	}
	if s := csv.Status; s.Phase != operatorsv1alpha1.CSVPhaseDeleting || s.Reason != managerv1alpha1.ConditionConversionInUse || !strings.HasPrefix(s.Message, "its Namespace is being deleted") {
		t.Errorf("is in phase %s/%s: %s", s.Phase, s.Reason, s.Message)
	}
}
