package lineage

import (
	"fmt"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// NotReady says which of the versions that a ClusterServiceVersion replaces cannot be
// replaced yet, and why; empty when all can. As under OLM v0, a version that was never
// installed is not replaced, unless the group's upgradeStrategy lets failed ones be.
func NotReady(csv *operatorsv1alpha1.ClusterServiceVersion, l Lineage) string {
	for _, older := range l.Older {
		if older.DeletionTimestamp != nil || !replaces(csv, older) {
			continue
		}
		switch phase := older.Status.Phase; phase {
		case operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVPhaseDeleting, operatorsv1alpha1.CSVPhaseSucceeded:
		case operatorsv1alpha1.CSVPhaseFailed:
			return fmt.Sprintf("%s, which it replaces, has failed (%s): repair or delete that one, or set spec.upgradeStrategy of the OperatorGroup to TechPreviewUnsafeFailForward",
				older.Name, older.Status.Reason)
		default:
			return fmt.Sprintf("%s, which it replaces, is not installed yet", older.Name)
		}
	}
	return ""
}

// Announced reports whether all versions that a ClusterServiceVersion replaces have
// announced that they are being replaced.
func Announced(csv *operatorsv1alpha1.ClusterServiceVersion, l Lineage) bool {
	for _, older := range l.Older {
		phase := older.Status.Phase
		if older.DeletionTimestamp == nil && replaces(csv, older) && phase != operatorsv1alpha1.CSVPhaseReplacing && phase != operatorsv1alpha1.CSVPhaseDeleting {
			return false
		}
	}
	return true
}

func replaces(newer, older *operatorsv1alpha1.ClusterServiceVersion) bool {
	for _, name := range Replaced(newer) {
		if name == older.Name {
			return true
		}
	}
	return false
}
