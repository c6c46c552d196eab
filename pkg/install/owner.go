package install

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// OwnerLabels tell which ClusterServiceVersion a derived object belongs to. For
// cluster-scoped objects, which cannot have a namespaced owner, they are the only tie.
func OwnerLabels(csv *operatorsv1alpha1.ClusterServiceVersion) map[string]string {
	return map[string]string{
		vocabulary.LabelManaged:        "true",
		vocabulary.LabelOwner:          names.LabelValue(csv.Name),
		vocabulary.LabelOwnerNamespace: csv.Namespace,
		vocabulary.LabelOwnerKind:      operatorsv1alpha1.ClusterServiceVersionKind,
	}
}

// ownerReference lets garbage collection remove a namespaced object after its
// ClusterServiceVersion. It does not block the deletion of the owner: the
// finalizer takes the webhooks out first, nothing else needs to wait.
func ownerReference(csv *operatorsv1alpha1.ClusterServiceVersion) metav1.OwnerReference {
	no := false
	return metav1.OwnerReference{
		APIVersion:         operatorsv1alpha1.ClusterServiceVersionAPIVersion,
		Kind:               operatorsv1alpha1.ClusterServiceVersionKind,
		Name:               csv.Name,
		UID:                csv.UID,
		Controller:         &no,
		BlockOwnerDeletion: &no,
	}
}

// Own makes an object the ClusterServiceVersion's, in place of one of the same name
// that was deleted. It tells whether the object was not that already.
func Own(object metav1.Object, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	var owners []metav1.OwnerReference
	for _, owner := range object.GetOwnerReferences() {
		if owner.UID == csv.UID {
			return false
		}
		if owner.Kind != operatorsv1alpha1.ClusterServiceVersionKind || owner.Name != csv.Name {
			owners = append(owners, owner)
		}
	}
	object.SetOwnerReferences(append(owners, ownerReference(csv)))
	return true
}

// Managed tells whether an object bears the label of derived objects.
func Managed(object metav1.Object) bool {
	return object.GetLabels()[vocabulary.LabelManaged] == "true"
}

// OwnedMeta is the metadata of every namespaced object that is derived from a
// ClusterServiceVersion.
func OwnedMeta(csv *operatorsv1alpha1.ClusterServiceVersion, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       csv.Namespace,
		Labels:          OwnerLabels(csv),
		OwnerReferences: []metav1.OwnerReference{ownerReference(csv)},
	}
}
