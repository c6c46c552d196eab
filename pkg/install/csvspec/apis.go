package csvspec

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// ServedGroups returns the API groups of the APIServices that a CSV owns.
func ServedGroups(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	return lists.Sorted(lists.Map(csv.Spec.APIServiceDefinitions.Owned, func(d operatorsv1alpha1.APIServiceDescription) string { return d.Group }))
}

// APIServiceName returns the name of the APIService for a version of a group.
func APIServiceName(group, version string) string { return version + "." + group }

// RequiredAPIs returns the kinds that a CSV requires the cluster to serve.
func RequiredAPIs(csv *operatorsv1alpha1.ClusterServiceVersion) []schema.GroupVersionKind {
	kinds := lists.Map(csv.Spec.APIServiceDefinitions.Required, func(d operatorsv1alpha1.APIServiceDescription) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: d.Group, Version: d.Version, Kind: d.Kind}
	})
	for _, api := range csv.Spec.NativeAPIs {
		kinds = append(kinds, schema.GroupVersionKind(api))
	}
	return kinds
}

// APIServiceType is the type of a description of an owned APIService.
const APIServiceType = managerv1alpha1.APIServiceType

// ServedAPIServices returns descriptions of versions of groups, each with all its kinds.
func ServedAPIServices(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string) []operatorsv1alpha1.WebhookDescription {
	of := lists.Filter(csv.Spec.APIServiceDefinitions.Owned, func(d operatorsv1alpha1.APIServiceDescription) bool { return d.DeploymentName == deployment })
	return lists.Unique(lists.Map(of, DescribeAPIService), func(d operatorsv1alpha1.WebhookDescription) string { return d.GenerateName })
}

// DescribeAPIService returns the description of one kind of an owned APIService.
func DescribeAPIService(d operatorsv1alpha1.APIServiceDescription) operatorsv1alpha1.WebhookDescription {
	return operatorsv1alpha1.WebhookDescription{
		Type: APIServiceType, GenerateName: APIServiceName(d.Group, d.Version), DeploymentName: d.DeploymentName,
		ContainerPort: cmp.Or(d.ContainerPort, DefaultPort),
	}
}

// OwnedKinds returns the descriptions of all kinds that an owned APIService serves.
func OwnedKinds(csv *operatorsv1alpha1.ClusterServiceVersion, name string) []operatorsv1alpha1.APIServiceDescription {
	return slices.DeleteFunc(slices.Clone(csv.Spec.APIServiceDefinitions.Owned), func(d operatorsv1alpha1.APIServiceDescription) bool {
		return APIServiceName(d.Group, d.Version) != name
	})
}

// Registers reports whether a registration has this identity: the name of an APIService, or else the label.
func (i Identity) Registers(kind operatorsv1alpha1.WebhookAdmissionType, live metav1.Object) bool {
	if i.Type != kind {
		return false
	}
	if kind == APIServiceType {
		return live.GetName() == i.GenerateName
	}
	return live.GetLabels()[wellknown.LabelWebhookGenerateName] == names.LabelValue(i.GenerateName)
}
