package controller

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// ownerID is how objects name the ClusterServiceVersion that they belong to: its
// namespace and its name as a label value.
func ownerID(namespace, csv string) string { return namespace + "/" + names.LabelValue(csv) }

// ownerIDs are those of a ClusterServiceVersion and of the versions that it takes over
// from.
func ownerIDs(csv *operatorsv1alpha1.ClusterServiceVersion, older []*operatorsv1alpha1.ClusterServiceVersion) []string {
	ids := []string{ownerID(csv.Namespace, csv.Name)}
	for _, c := range older {
		ids = append(ids, ownerID(c.Namespace, c.Name))
	}
	return ids
}

// ownersOf are the ClusterServiceVersions that an object belongs to, by its owner
// references, its owner labels, or, for what Kubernetes derives from derived
// objects, the labels that those pass on.
func ownersOf(o drift.Object) []string {
	switch o := o.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		return []string{ownerID(o.Namespace, o.Name)}
	case *corev1.Pod:
		return []string{o.Namespace + "/" + o.Labels[vocabulary.LabelPod]}
	case *discoveryv1.EndpointSlice:
		return []string{o.Namespace + "/" + o.Labels[vocabulary.LabelOwner]}
	}
	var owners []string
	for _, reference := range o.GetOwnerReferences() {
		if reference.Kind == operatorsv1alpha1.ClusterServiceVersionKind {
			owners = append(owners, ownerID(o.GetNamespace(), reference.Name))
		}
	}
	labels := o.GetLabels()
	if len(owners) == 0 && labels[vocabulary.LabelOwnerKind] == operatorsv1alpha1.ClusterServiceVersionKind {
		owners = append(owners, labels[vocabulary.LabelOwnerNamespace]+"/"+labels[vocabulary.LabelOwner])
	}
	return owners
}
