package phase

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// What holds a ClusterServiceVersion is said once, and again when it is another thing.
func TestHeldPhases(t *testing.T) {
	csv, now := &operatorsv1alpha1.ClusterServiceVersion{}, metav1.NewTime(noon)
	for _, told := range []struct {
		inUse string
		want  int
	}{{"things are in use", 1}, {"things are in use", 0}, {NamespaceDeleted("things are in use"), 1}, {NamespaceDeleted("things are in use"), 0}} {
		phases := DeletionBlocked(csv.Status, told.inUse, "")
		if len(phases) != told.want {
			t.Fatalf("told %v after %q", phases, csv.Status.Message)
		}
		for _, p := range phases {
			csv.SetPhase(p.Phase, p.Reason, p.Message, &now)
		}
	}
	if s := csv.Status; s.Phase != operatorsv1alpha1.CSVPhaseDeleting || s.Reason != managerv1alpha1.ConditionConversionInUse || !strings.HasPrefix(s.Message, "its Namespace is being deleted") {
		t.Errorf("is in phase %s/%s: %s", s.Phase, s.Reason, s.Message)
	}
}
