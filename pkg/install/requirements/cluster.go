package requirements

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// requiredKubernetes compares spec.minKubeVersion with the version of the API server.
func requiredKubernetes(f Facts) []operatorsv1alpha1.RequirementStatus {
	least := f.CSV.Spec.MinKubeVersion
	if least == "" {
		return nil
	}
	result := unmetCSV(f, "")
	release, _, _ := strings.Cut(f.Kubernetes, "-")
	served, unparsed := version.ParseSemantic(release)
	wanted, err := version.ParseSemantic(least)
	switch {
	case f.Kubernetes == "":
		if f.wasMet(result) {
			result.Status = operatorsv1alpha1.RequirementStatusReasonPresent
		}
		result.Message = "the API server has not answered which version it is: see kubectl get --raw /version"
	case unparsed != nil:
		result.Message = fmt.Sprintf("Server version parsing error: the API server reports that it is %q", f.Kubernetes)
	case err != nil:
		result.Message = fmt.Sprintf("CSV version parsing error: write spec.minKubeVersion as major.minor.patch, not %q", least)
	case served.LessThan(wanted):
		result.Message = fmt.Sprintf("CSV version requirement not met: minKubeVersion (%s) > server version (%s)", least, strings.TrimPrefix(release, "v"))
	default:
		result.Status = operatorsv1alpha1.RequirementStatusReasonPresent
		result.Message = fmt.Sprintf("CSV minKubeVersion (%s) less than server version (%s)", least, f.Kubernetes)
	}
	return []operatorsv1alpha1.RequirementStatus{result}
}

// An invalid spec.minKubeVersion is never met.
func awaitsKubernetes(f Facts) bool {
	if _, err := version.ParseSemantic(f.CSV.Spec.MinKubeVersion); err != nil {
		return false
	}
	return f.Kubernetes == "" || slices.ContainsFunc(requiredKubernetes(f), func(r operatorsv1alpha1.RequirementStatus) bool {
		return r.Status != operatorsv1alpha1.RequirementStatusReasonPresent
	})
}

// Without the finalizer the webhooks would stay registered without a server when the CSV is deleted.
func finalized(f Facts) []operatorsv1alpha1.RequirementStatus {
	if f.FinalizerProblem == "" {
		return nil
	}
	return []operatorsv1alpha1.RequirementStatus{unmetCSV(f, "does not keep the finalizer "+wellknown.FinalizerCSV+": "+f.FinalizerProblem)}
}

func unmetCSV(f Facts, message string) operatorsv1alpha1.RequirementStatus {
	return operatorsv1alpha1.RequirementStatus{
		Group: operatorsv1alpha1.GroupName, Version: operatorsv1alpha1.GroupVersion, Kind: operatorsv1alpha1.ClusterServiceVersionKind, Name: f.CSV.Name,
		Status: operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied, Message: message,
	}
}
