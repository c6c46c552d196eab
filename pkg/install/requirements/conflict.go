package requirements

import (
	"fmt"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Both operators would reconcile the same objects.
func ownerConflict(f Facts) string {
	own := scope.Claimant{CSV: f.CSV, Began: f.Began}
	for _, neighbour := range f.Neighbours {
		if !neighbour.Precedes(own) {
			continue
		}
		if both := inCommon(csvspec.OwnedCRDs(f.CSV), csvspec.OwnedCRDs(neighbour.CSV)); both != "" {
			return conflictOver("conflicting CRD owner in namespace", both, neighbour.CSV)
		}
		if both := inCommon(csvspec.APIServices(f.CSV), csvspec.APIServices(neighbour.CSV)); both != "" {
			return conflictOver("unable to adopt APIService", both, neighbour.CSV)
		}
	}
	return ""
}

// conflictOver formats a conflict. The message begins with the text of OLM v0.
func conflictOver(words, owned string, owner *operatorsv1alpha1.ClusterServiceVersion) string {
	return fmt.Sprintf("%s: ClusterServiceVersion %s owns %s, too: delete one of the two, or, where one is a later version of the other, name that in spec.replaces", words, owner.Name, owned)
}

func inCommon(one, other []string) string {
	return lists.First(one, func(name string) bool { return slices.Contains(other, name) })
}

// Versions of the same operator are not contenders.
func claimedDeployments(f Facts) map[string]string {
	claimed := map[string]string{}
	for _, spec := range csvspec.Deployments(f.CSV) {
		if claimant := claimantOf(f, spec.Name); claimant != nil {
			claimed[spec.Name] = claimant.Name
		}
	}
	return claimed
}

// The live Deployment belongs to the contender, or else its installation has started first.
func claimantOf(f Facts, deployment string) *operatorsv1alpha1.ClusterServiceVersion {
	live := f.Deployments[deployment]
	if live != nil && csvspec.OwnedBy(live, f.CSV) {
		return nil
	}
	own := scope.Claimant{CSV: f.CSV, Began: f.Active}
	var begun *scope.Claimant
	for i, other := range f.Contenders {
		switch {
		case !csvspec.HasDeployment(other.CSV, deployment):
		case live != nil && csvspec.OwnedBy(live, other.CSV):
			return other.CSV
		case other.Began && (!f.Active || other.Precedes(own)) && (begun == nil || other.Precedes(*begun)):
			begun = &f.Contenders[i]
		}
	}
	if begun == nil {
		return nil
	}
	return begun.CSV
}

func unclaimedDeployments(csv *operatorsv1alpha1.ClusterServiceVersion, claimed map[string]string) []operatorsv1alpha1.RequirementStatus {
	var results []operatorsv1alpha1.RequirementStatus
	for _, name := range csvspec.DeploymentNames(csv) {
		if claimant := claimed[name]; claimant != "" {
			results = append(results, unmetDeployment(name, operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied,
				fmt.Sprintf("Deployment %s belongs to ClusterServiceVersion %s: delete one of the two, rename its Deployment, or, where %s is a later version of %[2]s, name %[2]s in its spec.skips",
					name, claimant, csv.Name)))
		}
	}
	return results
}
