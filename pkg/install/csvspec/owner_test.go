package csvspec

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// SetOwner removes the reference to a deleted version of the same name, and keeps that of a kind of another group.
func TestSetOwner(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1", UID: "2"}}
	deleted, other := ownerReference(csv), ownerReference(csv)
	deleted.UID = "1"
	other.UID, other.APIVersion = "3", "evil.example.com/v1alpha1"
	o := &metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{deleted, other}}
	SetOwner(o, csv)
	if len(o.OwnerReferences) != 2 || o.OwnerReferences[0].UID != "3" || o.OwnerReferences[1].UID != "2" {
		t.Errorf("the owners are %+v", o.OwnerReferences)
	}
}
