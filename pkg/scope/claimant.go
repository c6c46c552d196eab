package scope

import (
	"cmp"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Claimant is an operator that provides APIs which another one provides as well.
type Claimant struct {
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// Kinds are those of the CustomResourceDefinitions that it owns and that exist, by name.
	Kinds map[string]string
	// Began is set once it, or a version that it replaces, has been installed.
	Began bool
}

// Precedes reports which of two operators keeps what only one can have: one that is installed, else one that
// has not had to yield yet, else the elder, by creation, namespace and name. Exactly one of any two precedes
// the other.
func (c Claimant) Precedes(other Claimant) bool {
	if c.standing() != other.standing() {
		return c.standing() > other.standing()
	}
	return cmp.Or(
		c.CSV.CreationTimestamp.Compare(other.CSV.CreationTimestamp.Time),
		cmp.Compare(c.CSV.Namespace, other.CSV.Namespace),
		cmp.Compare(c.CSV.Name, other.CSV.Name)) < 0
}

func (c Claimant) standing() int {
	switch {
	case c.CSV.Status.Phase == operatorsv1alpha1.CSVPhaseFailed && Yields(c.CSV.Status.Reason):
		return 0
	case c.Began:
		return 2
	default:
		return 1
	}
}

// Yields reports whether an operator gives up what it has: another one has the better right.
func Yields(reason operatorsv1alpha1.ConditionReason) bool {
	return reason == operatorsv1alpha1.CSVReasonOwnerConflict ||
		reason == operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict ||
		reason == operatorsv1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs
}
