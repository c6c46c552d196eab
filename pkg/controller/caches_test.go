package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// A ClusterServiceVersion in the cache has what pods are annotated with, and not what is
// larger than all the rest.
func TestCachedVersionsAreWithoutProse(t *testing.T) {
	annotations := map[string]string{"example.com/team": "red", corev1.LastAppliedConfigAnnotation: "{}"}
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "operator.v1", Annotations: annotations}}
	csv.Spec.Description = "long"
	if _, err := withoutProse(csv); err != nil {
		t.Fatal(err)
	}
	want := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "operator.v1", Annotations: map[string]string{"example.com/team": "red"}}}
	if diff := cmp.Diff(want.ObjectMeta, csv.ObjectMeta); diff != "" || csv.Spec.Description != "" {
		t.Errorf("description %q, metadata (-want +got):\n%s", csv.Spec.Description, diff)
	}
}
