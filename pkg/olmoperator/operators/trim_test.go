package operators

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestTrimmedSubscription(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "shop", Labels: map[string]string{"a": "b"}}
	status := operatorsv1alpha1.SubscriptionStatus{InstalledCSV: "shop.v1", InstallPlanRef: &corev1.ObjectReference{Name: "install-1"}}
	full := &operatorsv1alpha1.Subscription{ObjectMeta: meta, Spec: &operatorsv1alpha1.SubscriptionSpec{Package: "shop", Channel: "stable"}, Status: status}
	full.Status.CatalogHealth = []operatorsv1alpha1.SubscriptionCatalogHealth{{Healthy: true}}
	want := &operatorsv1alpha1.Subscription{ObjectMeta: meta, Spec: &operatorsv1alpha1.SubscriptionSpec{Package: "shop"}, Status: status}
	installtest.Same[any](t, "the Subscription", want, installtest.OrPanic(trimmedSubscription(full)))
	empty := &operatorsv1alpha1.Subscription{ObjectMeta: meta}
	installtest.Same[any](t, "a Subscription without a spec", empty.DeepCopy(), installtest.OrPanic(trimmedSubscription(empty)))
}

func TestTrimmedCondition(t *testing.T) {
	condition := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "shop.v1", "labels": map[string]any{"a": "b"}, "annotations": map[string]any{"c": "d"}},
		"spec":     map[string]any{"overrides": []any{}}, "status": map[string]any{"conditions": []any{}},
	}}
	installtest.Same[any](t, "the OperatorCondition", &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "shop.v1", "labels": map[string]any{"a": "b"}}, "status": map[string]any{"conditions": []any{}},
	}}, installtest.OrPanic(trimmedCondition(condition)))
}
