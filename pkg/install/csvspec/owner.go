package csvspec

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

func OwnsNamed[T metav1.Object](csv *operatorsv1alpha1.ClusterServiceVersion, objects []T, name string) bool {
	return slices.ContainsFunc(objects, func(o T) bool { return o.GetName() == name && Owns(csv, o) })
}

// Owns reports whether a ClusterServiceVersion is among the owners of an object, by its uid.
func Owns(csv *operatorsv1alpha1.ClusterServiceVersion, object metav1.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == csv.UID })
}

// OwnerLabels tell which ClusterServiceVersion a derived object belongs to. For
// cluster-scoped objects, which cannot have a namespaced owner, they are the only tie.
func OwnerLabels(csv *operatorsv1alpha1.ClusterServiceVersion) map[string]string {
	return map[string]string{
		wellknown.LabelManaged:        "true",
		wellknown.LabelOwner:          names.LabelValue(csv.Name),
		wellknown.LabelOwnerNamespace: csv.Namespace,
		wellknown.LabelOwnerKind:      operatorsv1alpha1.ClusterServiceVersionKind,
	}
}

// OwnerSelector selects what is derived from any of some ClusterServiceVersions of one
// namespace.
func OwnerSelector(csvs []*operatorsv1alpha1.ClusterServiceVersion) labels.Selector {
	shared := OwnerLabels(csvs[0])
	delete(shared, wellknown.LabelOwner)
	var owners []string
	for _, csv := range csvs {
		owners = append(owners, names.LabelValue(csv.Name))
	}
	requirement, err := labels.NewRequirement(wellknown.LabelOwner, selection.In, owners)
	if err != nil {
		panic(err) // label values are made to fit
	}
	return labels.SelectorFromSet(shared).Add(*requirement)
}

// ownerReference lets garbage collection remove a namespaced object after its
// ClusterServiceVersion. It does not block the deletion of the owner: the
// finalizer takes the webhooks out first, nothing else needs to wait.
func OwnerReference(csv *operatorsv1alpha1.ClusterServiceVersion) metav1.OwnerReference {
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

// SetOwner makes an object the ClusterServiceVersion's, in place of one of the same name
// that was deleted. A version of the operator that is still there stays an owner
// beside it: the object must survive whichever of the two goes first. SetOwner tells whether
// the object was not that already.
func SetOwner(object metav1.Object, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	if OwnedBy(object, csv) {
		return false
	}
	var owners []metav1.OwnerReference
	for _, owner := range object.GetOwnerReferences() {
		if owner.Kind != operatorsv1alpha1.ClusterServiceVersionKind || owner.Name != csv.Name {
			owners = append(owners, owner)
		}
	}
	object.SetOwnerReferences(append(owners, OwnerReference(csv)))
	object.SetLabels(labels.Merge(object.GetLabels(), OwnerLabels(csv)))
	return true
}

// OwnedBy tells whether an object is the ClusterServiceVersion's by its owner reference
// and its labels: while a version replaces another, the labels tell which of the two
// has the object in hand.
func OwnedBy(object metav1.Object, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return HasOwnerLabels(object, csv) && Owns(csv, object)
}

// HasOwnerLabels tells whether an object bears the labels of the ClusterServiceVersion.
func HasOwnerLabels(object metav1.Object, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	for label, value := range OwnerLabels(csv) {
		if object.GetLabels()[label] != value {
			return false
		}
	}
	return true
}

// IsManaged tells whether an object bears the label of derived objects.
func IsManaged(object metav1.Object) bool {
	return object.GetLabels()[wellknown.LabelManaged] == "true"
}

// OwnedMeta is the metadata of every namespaced object that is derived from a
// ClusterServiceVersion.
func OwnedMeta(csv *operatorsv1alpha1.ClusterServiceVersion, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       csv.Namespace,
		Labels:          OwnerLabels(csv),
		OwnerReferences: []metav1.OwnerReference{OwnerReference(csv)},
	}
}
