package requirements

import (
	"fmt"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

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
	for _, name := range one {
		if slices.Contains(other, name) {
			return name
		}
	}
	return ""
}
