package informers

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// OwnerID returns the index value of a ClusterServiceVersion: its namespace and its name as a label value.
func OwnerID(namespace, csv string) string { return namespace + "/" + names.LabelValue(csv) }

// OwnerIDs returns the owner IDs of a ClusterServiceVersion and of the versions that it replaces.
func OwnerIDs(csv *operatorsv1alpha1.ClusterServiceVersion, older []*operatorsv1alpha1.ClusterServiceVersion) []string {
	versions := append([]*operatorsv1alpha1.ClusterServiceVersion{csv}, older...)
	return lists.Map(versions, func(c *operatorsv1alpha1.ClusterServiceVersion) string { return OwnerID(c.Namespace, c.Name) })
}

// OwnersOf returns owner IDs by owner references, or else by owner labels. Pods and EndpointSlices inherit
// labels.
func OwnersOf(o drift.Object) []string {
	switch o := o.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		return []string{OwnerID(o.Namespace, o.Name)}
	case *corev1.Pod:
		return []string{o.Namespace + "/" + o.Labels[wellknown.LabelCSV]}
	case *discoveryv1.EndpointSlice:
		return []string{o.Namespace + "/" + o.Labels[wellknown.LabelOwner]}
	}
	var owners []string
	for _, reference := range o.GetOwnerReferences() {
		if groupkind.IsOwner(reference, groupkind.ClusterServiceVersion) {
			owners = append(owners, OwnerID(o.GetNamespace(), reference.Name))
		}
	}
	labels := o.GetLabels()
	if len(owners) == 0 && labels[wellknown.LabelOwnerKind] == operatorsv1alpha1.ClusterServiceVersionKind {
		owners = append(owners, labels[wellknown.LabelOwnerNamespace]+"/"+labels[wellknown.LabelOwner])
	}
	return owners
}
