package csvspec

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// OwnsNamed reports whether a CSV is an owner of the object with a name.
func OwnsNamed[T metav1.Object](csv *operatorsv1alpha1.ClusterServiceVersion, objects []T, name string) bool {
	return slices.ContainsFunc(objects, func(o T) bool { return o.GetName() == name && Owns(csv, o) })
}

// Owns reports whether a CSV is an owner of an object, by its uid.
func Owns(csv *operatorsv1alpha1.ClusterServiceVersion, object metav1.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == csv.UID })
}

// OwnerLabels are the only link from a cluster-scoped object, which cannot have a namespaced owner.
func OwnerLabels(csv *operatorsv1alpha1.ClusterServiceVersion) map[string]string {
	return map[string]string{
		wellknown.LabelManaged:        "true",
		wellknown.LabelOwner:          names.LabelValue(csv.Name),
		wellknown.LabelOwnerNamespace: csv.Namespace,
		wellknown.LabelOwnerKind:      operatorsv1alpha1.ClusterServiceVersionKind,
	}
}

// OwnerSelector selects the objects that are derived from any of several CSVs in one namespace.
func OwnerSelector(csvs []*operatorsv1alpha1.ClusterServiceVersion) labels.Selector {
	shared := OwnerLabels(csvs[0])
	delete(shared, wellknown.LabelOwner)
	owners := lists.Map(csvs, func(csv *operatorsv1alpha1.ClusterServiceVersion) string { return names.LabelValue(csv.Name) })
	requirement, err := labels.NewRequirement(wellknown.LabelOwner, selection.In, owners)
	if err != nil {
		panic(err) // names.LabelValue returns valid values
	}
	return labels.SelectorFromSet(shared).Add(*requirement)
}

// ownerReference does not block the deletion of the CSV: the finalizer removes the webhooks first.
func ownerReference(csv *operatorsv1alpha1.ClusterServiceVersion) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         operatorsv1alpha1.ClusterServiceVersionAPIVersion,
		Kind:               operatorsv1alpha1.ClusterServiceVersionKind,
		Name:               csv.Name,
		UID:                csv.UID,
		Controller:         new(false),
		BlockOwnerDeletion: new(false),
	}
}

// SetOwner replaces an owner reference to a deleted CSV with the same name. Other versions remain owners: the
// object must exist until both are deleted. It reports whether it changed the object.
func SetOwner(object metav1.Object, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	if OwnedBy(object, csv) {
		return false
	}
	owners := slices.DeleteFunc(slices.Clone(object.GetOwnerReferences()), func(owner metav1.OwnerReference) bool {
		return groupkind.IsOwner(owner, groupkind.ClusterServiceVersion) && owner.Name == csv.Name
	})
	object.SetOwnerReferences(append(owners, ownerReference(csv)))
	object.SetLabels(labels.Merge(object.GetLabels(), OwnerLabels(csv)))
	return true
}

// OwnedBy compares owner references and labels, which name the active one of two versions that own an object.
func OwnedBy(object metav1.Object, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return HasOwnerLabels(object, csv) && Owns(csv, object)
}

// HasOwnerLabels reports whether an object has the labels of a CSV.
func HasOwnerLabels(object metav1.Object, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	for label, value := range OwnerLabels(csv) {
		if object.GetLabels()[label] != value {
			return false
		}
	}
	return true
}

// IsManaged reports whether an object has the label of derived objects.
func IsManaged(object metav1.Object) bool {
	return object.GetLabels()[wellknown.LabelManaged] == "true"
}

// OwnedMeta returns the metadata of a namespaced object that is derived from a CSV.
func OwnedMeta(csv *operatorsv1alpha1.ClusterServiceVersion, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       csv.Namespace,
		Labels:          OwnerLabels(csv),
		OwnerReferences: []metav1.OwnerReference{ownerReference(csv)},
	}
}
