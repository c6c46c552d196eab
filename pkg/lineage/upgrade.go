package lineage

import (
	"fmt"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// NotReady returns which version cannot be replaced yet, and why. As under OLM v0, a version that was never
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

// Announced reports whether all replaced versions have announced that.
func Announced(csv *operatorsv1alpha1.ClusterServiceVersion, l Lineage) bool {
	return !slices.ContainsFunc(l.Older, func(older *operatorsv1alpha1.ClusterServiceVersion) bool {
		phase := older.Status.Phase
		return older.DeletionTimestamp == nil && replaces(csv, older) && phase != operatorsv1alpha1.CSVPhaseReplacing && phase != operatorsv1alpha1.CSVPhaseDeleting
	})
}

func replaces(newer, older *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.Contains(Replaced(newer), older.Name)
}
