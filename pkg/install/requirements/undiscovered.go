package requirements

import (
	"fmt"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// DiscoveryPath is where the API server lists the kinds of a version of a group.
func DiscoveryPath(group schema.GroupVersion) string {
	if group.Group == "" {
		return path.Join("/api", group.Version)
	}
	return path.Join("/apis", group.Group, group.Version)
}

// NotDiscovered is the message about a version of a group of which the API server has not answered which
// kinds it serves.
func NotDiscovered(group schema.GroupVersion) string {
	return fmt.Sprintf("the API server has not answered which kinds it serves: see kubectl get --raw %s", DiscoveryPath(group))
}

// undiscovered reports whether a requirement is not met because the API server has not answered whether it
// serves a kind.
func (f Facts) undiscovered(kind schema.GroupVersionKind, requirement operatorsv1alpha1.RequirementStatus) bool {
	return f.Undiscovered[kind.GroupVersion()] && !f.wasMet(requirement)
}

// wasMet reports whether a requirement of a ClusterServiceVersion that has begun to be installed was met, as
// its status records. That is the last known answer of a manager that has just started.
func (f Facts) wasMet(requirement operatorsv1alpha1.RequirementStatus) bool {
	recorded := slices.DeleteFunc(slices.Clone(f.CSV.Status.RequirementStatus), func(r operatorsv1alpha1.RequirementStatus) bool {
		return r.Group != requirement.Group || r.Version != requirement.Version || r.Kind != requirement.Kind || r.Name != requirement.Name
	})
	return f.Began && len(recorded) > 0 && !slices.ContainsFunc(recorded, func(r operatorsv1alpha1.RequirementStatus) bool {
		return r.Status != operatorsv1alpha1.RequirementStatusReasonPresent
	})
}
