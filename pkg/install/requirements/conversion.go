package requirements

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// A conversion applies to all namespaces, so the install modes must not allow a narrower scope.
func conversionViolations(csv *operatorsv1alpha1.ClusterServiceVersion) []Violation {
	var violations []Violation
	convertedBy := map[string]int{}
	for i, d := range csv.Spec.WebhookDefinitions {
		if d.Type != operatorsv1alpha1.ConversionWebhook {
			continue
		}
		violate := func(message, wayOut string) {
			violations = append(violations, Violation{WrongConversion, i, d.GenerateName, fmt.Sprintf("spec.webhookdefinitions[%d] is a conversion webhook %s", i, message), wayOut})
		}
		if narrower := NarrowerModes(csv); len(narrower) > 0 {
			violate("and spec.installModes supports "+strings.Join(narrower, ", "), "support AllNamespaces only, since it converts the objects of all namespaces")
		}
		if len(d.ConversionCRDs) == 0 {
			violate("without conversionCRDs", "name the CustomResourceDefinitions that it converts")
		}
		for _, crd := range d.ConversionCRDs {
			other, repeated := convertedBy[crd]
			convertedBy[crd] = i
			switch {
			case repeated:
				violate(fmt.Sprintf("for %s, and so is [%d]: a CustomResourceDefinition has one", crd, other), "name it in one of them")
			case protectedGroup(crd):
				violate(fmt.Sprintf("for %s: its conversion webhook could control the manager itself", crd), "remove it from conversionCRDs")
			case !csv.OwnsCRD(crd):
				violate(fmt.Sprintf("for %s, which spec.customresourcedefinitions.owned does not list", crd), "add it there, or remove it from conversionCRDs")
			}
		}
	}
	return violations
}

// NarrowerModes returns the supported install modes except AllNamespaces.
func NarrowerModes(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	return lists.FilterMap(csv.Spec.InstallModes, func(mode operatorsv1alpha1.InstallMode) (string, bool) {
		return string(mode.Type), mode.Supported && mode.Type != operatorsv1alpha1.InstallModeTypeAllNamespaces
	})
}

// protectedGroup reports whether no webhook may convert a CRD.
func protectedGroup(crd string) bool {
	_, group, _ := strings.Cut(crd, ".")
	return slices.Contains(protectedGroups, fold(group))
}

// Missing CRDs are reported with the owned CRDs.
func convertibleCRDs(f Facts) []operatorsv1alpha1.RequirementStatus {
	var results []operatorsv1alpha1.RequirementStatus
	for _, d := range f.CSV.Spec.WebhookDefinitions {
		if d.Type != operatorsv1alpha1.ConversionWebhook {
			continue
		}
		for _, name := range d.ConversionCRDs {
			if message := inconvertible(f, f.CRDs[name]); message != "" {
				results = append(results, operatorsv1alpha1.RequirementStatus{
					Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition", Name: name, UUID: string(f.CRDs[name].UID),
					Status: operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied, Message: message,
				})
			}
		}
	}
	return results
}

func inconvertible(f Facts, crd *apiextensionsv1.CustomResourceDefinition) string {
	if crd == nil {
		return ""
	}
	switch namespace, service := owners.ConvertedBy(crd); {
	case crd.Spec.PreserveUnknownFields:
		return "has spec.preserveUnknownFields true, with which nothing can be converted: set it to false"
	case f.Converters[namespace+"/"+service]:
		return fmt.Sprintf("is converted by service %s/%s of another ClusterServiceVersion: delete that one first", namespace, service)
	case f.ConvertedByOthers[crd.Name]:
		return otherConversion(crd)
	default:
		return ""
	}
}

func otherConversion(crd *apiextensionsv1.CustomResourceDefinition) string {
	const cause = "which does not belong to this ClusterServiceVersion"
	if namespace, service := owners.ConvertedBy(crd); service != "" {
		return fmt.Sprintf("is converted by Service %s/%s, %s: uninstall what the Service belongs to, such as a Helm release, or delete the Service", namespace, service, cause)
	}
	return fmt.Sprintf("is converted by a webhook at the URL in spec.conversion.webhook.clientConfig.url, %s: uninstall what the webhook belongs to, and set spec.conversion to strategy None", cause)
}
