package requirements

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/heldversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// CRDs checks all versions of described CRDs. OLM v0 checks one of each CRD.
func CRDs(f Facts, descriptions []operatorsv1alpha1.CRDDescription) []operatorsv1alpha1.RequirementStatus {
	return lists.Map(descriptions, func(d operatorsv1alpha1.CRDDescription) operatorsv1alpha1.RequirementStatus {
		return requiredCRD(f.CRDs[d.Name], d, awaited(f, d))
	})
}

func requiredCRD(crd *apiextensionsv1.CustomResourceDefinition, wanted operatorsv1alpha1.CRDDescription, awaited bool) operatorsv1alpha1.RequirementStatus {
	result := operatorsv1alpha1.RequirementStatus{
		Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition", Name: wanted.Name,
		Status: operatorsv1alpha1.RequirementStatusReasonNotPresent,
	}
	if crd == nil {
		result.Message = "CRD is not present"
		return result
	}
	versions := storedversions.Served(crd)
	if !awaited && !slices.Contains(versions, wanted.Version) {
		result.Message = fmt.Sprintf("CRD version not served: the ClusterServiceVersion names %s, served are %s", wanted.Version, strings.Join(versions, ", "))
		return result
	}
	result.UUID = string(crd.UID)
	for _, needed := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.Established, apiextensionsv1.NamesAccepted} {
		if !apihelpers.IsCRDConditionTrue(crd, needed) {
			condition := ptr.Deref(apihelpers.FindCRDCondition(crd, needed), apiextensionsv1.CustomResourceDefinitionCondition{})
			result.Status = operatorsv1alpha1.RequirementStatusReasonNotAvailable
			result.Message = fmt.Sprintf("CRD is present but the Established condition is False (not available): %s: %s", needed, cmp.Or(condition.Message, "not yet"))
			return result
		}
	}
	result.Status = operatorsv1alpha1.RequirementStatusReasonPresent
	result.Message = "CRD is present and Established condition is true"
	return result
}

// awaited reports whether a version is served after the webhook converts to it. Earlier its objects could not be read,
// or would lose fields.
func awaited(f Facts, wanted operatorsv1alpha1.CRDDescription) bool {
	return announced(f, wanted) || held(f, wanted)
}

// announced reports whether the installer has announced that it serves the version then.
func announced(f Facts, wanted operatorsv1alpha1.CRDDescription) bool {
	crd := f.CRDs[wanted.Name]
	return crd != nil && !slices.Contains(storedversions.Served(crd), wanted.Version) &&
		csvspec.Converts(f.CSV, wanted.Name) >= 0 && f.CSV.OwnsCRD(wanted.Name) &&
		slices.Contains(strings.Split(f.CSV.Annotations[wellknown.AnnotationAwaitedVersions], ","), csvspec.CRDVersion(wanted.Name, wanted.Version))
}

// held reports whether the policy for definitions holds the version. Without a conversion webhook, the manager serves
// it as soon as no other version of the operator converts.
func held(f Facts, wanted operatorsv1alpha1.CRDDescription) bool {
	crd := f.CRDs[wanted.Name]
	return crd != nil && f.CSV.OwnsCRD(wanted.Name) && slices.Contains(heldversions.Of(crd).Versions, wanted.Version)
}

func versionsThatAre(awaited func(Facts, operatorsv1alpha1.CRDDescription) bool, f Facts) []string {
	return lists.FilterMap(csvspec.CRDDescriptions(f.CSV), func(d operatorsv1alpha1.CRDDescription) (string, bool) {
		return csvspec.CRDVersion(d.Name, d.Version), awaited(f, d)
	})
}
