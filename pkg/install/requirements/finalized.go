package requirements

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// finalized is the requirement that a ClusterServiceVersion keeps the manager's finalizer: without it, its webhooks
// would stay registered when it is deleted, and nobody would serve them.
func finalized(f Facts) []operatorsv1alpha1.RequirementStatus {
	if f.FinalizerProblem == "" {
		return nil
	}
	return []operatorsv1alpha1.RequirementStatus{{
		Group: operatorsv1alpha1.GroupName, Version: operatorsv1alpha1.GroupVersion, Kind: operatorsv1alpha1.ClusterServiceVersionKind, Name: f.CSV.Name,
		Status:  operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied,
		Message: "does not keep the finalizer " + wellknown.FinalizerCSV + ": " + f.FinalizerProblem,
	}}
}
