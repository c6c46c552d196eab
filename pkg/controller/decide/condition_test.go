package decide

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// One write adopts an OperatorCondition: after it the manager compares the object with what it is to
// be. OLM v0 gives it an owner and one label only.
func TestAdoptionOfAnOperatorCondition(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "operator.v1", UID: "1"}}
	owner := metav1.OwnerReference{APIVersion: operatorsv1alpha1.ClusterServiceVersionAPIVersion, Kind: operatorsv1alpha1.ClusterServiceVersionKind, Name: csv.Name, UID: csv.UID}
	before := owner
	before.UID = "0"
	keeper := metav1.OwnerReference{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "orders.shop.example.com", UID: "2"}
	for name, owners := range map[string][]metav1.OwnerReference{
		"of OLM v0":                       {owner},
		"of a namesake that was deleted":  {before},
		"without an owner":                nil,
		"that a definition keeps as well": {before, keeper},
	} {
		t.Run(name, func(t *testing.T) {
			live := &unstructured.Unstructured{}
			live.SetAPIVersion("operators.coreos.com/v2")
			live.SetKind("OperatorCondition")
			live.SetNamespace(csv.Namespace)
			live.SetName(csv.Name)
			live.SetLabels(map[string]string{wellknown.LabelManaged: "true"})
			live.SetOwnerReferences(owners)
			step := adoptCondition(live, csv)
			adopted := step.Object.(*unstructured.Unstructured)
			installtest.Same(t, "it is the ClusterServiceVersion's after the write", true, csvspec.OwnedBy(adopted, csv))
			installtest.Same(t, "the owner is kept", slices.Contains(owners, keeper), slices.Contains(adopted.GetOwnerReferences(), keeper))
			installtest.Same(t, "the owner that was deleted is kept", false, slices.Contains(adopted.GetOwnerReferences(), before))
			if step.Desired == nil {
				t.Error("the answer is compared with nothing: another client that undoes the write is fought without limit")
			}
		})
	}
}
