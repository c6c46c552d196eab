package rollout

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// HeldPhases are what a ClusterServiceVersion that is being deleted says while a conversion
// holds it; none when it says so already.
func HeldPhases(status operatorsv1alpha1.ClusterServiceVersionStatus, inUse string) []Phase {
	held := Phase{operatorsv1alpha1.CSVPhaseDeleting, managerv1alpha1.ConditionConversionInUse, inUse}
	if phaseOf(status) == held {
		return nil
	}
	return []Phase{held}
}

// WithoutBackend adds to what holds a ClusterServiceVersion that its Namespace goes, which nothing in it
// outlives.
func WithoutBackend(inUse string) string {
	return inUse + ". Its Namespace is being deleted, and what converts goes with it, so that nothing can be migrated any more: requests in another version than an object is stored in fail, " +
		"and lose nothing. Once the annotation is set the Namespace goes, and such requests drop fields until the operator is installed in another one"
}
