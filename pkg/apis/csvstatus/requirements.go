package csvstatus

import (
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// maxRequirements is how many bytes of text status.requirementStatus has at most: etcd takes 1.5 MiB
// for a whole ClusterServiceVersion by default, and a status that cannot be written reports nothing.
const maxRequirements = 256 << 10

// Requirements returns results for status.requirementStatus: all of them, or, if too many, the unmet ones first.
func Requirements(results []operatorsv1alpha1.RequirementStatus) []operatorsv1alpha1.RequirementStatus {
	reported := make([]operatorsv1alpha1.RequirementStatus, 0, len(results))
	bytes := 0
	for _, r := range results {
		r.Message = Words(r.Message)
		reported = append(reported, r)
		bytes += sizeOf(r)
	}
	if bytes <= maxRequirements {
		return reported
	}
	slices.SortStableFunc(reported, func(a, b operatorsv1alpha1.RequirementStatus) int { return metLast(a) - metLast(b) })
	left := maxRequirements
	return slices.DeleteFunc(reported, func(r operatorsv1alpha1.RequirementStatus) bool {
		if sizeOf(r) > left {
			return true
		}
		left -= sizeOf(r)
		return false
	})
}

// DeploymentFound is the status of an owned APIService whose Deployment the ClusterServiceVersion lists.
const DeploymentFound operatorsv1alpha1.StatusReason = "DeploymentFound"

func metLast(r operatorsv1alpha1.RequirementStatus) int {
	if Met(r) {
		return 1
	}
	return 0
}

// Met reports whether a requirement is met.
func Met(r operatorsv1alpha1.RequirementStatus) bool {
	return r.Status == operatorsv1alpha1.RequirementStatusReasonPresent || r.Status == DeploymentFound
}

// sizeOf returns about how many bytes a result needs as JSON.
func sizeOf(r operatorsv1alpha1.RequirementStatus) int {
	const keys = 100
	bytes := keys + len(r.Group) + len(r.Version) + len(r.Kind) + len(r.Name) + len(r.Status) + len(r.UUID) + len(r.Message)
	for _, d := range r.Dependents {
		bytes += keys + len(d.Group) + len(d.Version) + len(d.Kind) + len(d.Status) + len(d.UUID) + len(d.Message)
	}
	return bytes
}
