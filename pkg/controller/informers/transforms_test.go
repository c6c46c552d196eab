package informers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A cached ClusterServiceVersion has the annotations that pods get, and not the large descriptive fields.
func TestCachedVersionsLackDescriptions(t *testing.T) {
	annotations := map[string]string{"example.com/team": "red", corev1.LastAppliedConfigAnnotation: "{}"}
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "operator.v1", Annotations: annotations}}
	csv.Spec.Description = "long"
	_, err := trimmedCSV(csv)
	installtest.Must(t, err)
	want := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "operator.v1", Annotations: map[string]string{"example.com/team": "red"}}}
	installtest.Same(t, "metadata", want.ObjectMeta, csv.ObjectMeta)
	installtest.Same(t, "description", "", csv.Spec.Description)
}

// A cached pod has its named ports: the targetPort of a Service may be a name.
func TestPodsKeepNamedPorts(t *testing.T) {
	kept, err := withoutPodSpec(&corev1.Pod{Spec: corev1.PodSpec{
		NodeName: "node",
		Containers: []corev1.Container{
			{Name: "server", Image: "server:1", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 9443}, {ContainerPort: 8080}}},
			{Name: "other", Image: "other:1"},
		},
	}})
	installtest.Must(t, err)
	want := corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 9443}}}}}
	installtest.Same(t, "spec", want, kept.(*corev1.Pod).Spec)
}

// The manifests of an InstallPlan are not kept in memory.
func TestWithoutManifests(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "install-1", Labels: map[string]string{"a": "b"}}
	conditions := []operatorsv1alpha1.InstallPlanCondition{{Type: operatorsv1alpha1.InstallPlanInstalled, Status: corev1.ConditionTrue}}
	role := operatorsv1alpha1.StepResource{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "reader"}
	withManifest := role
	withManifest.Manifest, withManifest.CatalogSource = "much text", "catalog"
	plan := &operatorsv1alpha1.InstallPlan{ObjectMeta: meta, Spec: operatorsv1alpha1.InstallPlanSpec{Approved: true}, Status: operatorsv1alpha1.InstallPlanStatus{
		Conditions: conditions, BundleLookups: []operatorsv1alpha1.BundleLookup{{Path: "image"}},
		Plan: []*operatorsv1alpha1.Step{
			nil,
			{Resolving: "shop.v1", Resource: operatorsv1alpha1.StepResource{Kind: "Secret", Name: "other", Manifest: "much text"}, Status: operatorsv1alpha1.StepStatusCreated},
			{Resolving: "shop.v1", Resource: withManifest, Status: operatorsv1alpha1.StepStatusCreated},
		},
	}}
	plan.Annotations, plan.ManagedFields = map[string]string{"c": "d"}, []metav1.ManagedFieldsEntry{{}}
	want := &operatorsv1alpha1.InstallPlan{ObjectMeta: meta, Spec: operatorsv1alpha1.InstallPlanSpec{Approved: true}, Status: operatorsv1alpha1.InstallPlanStatus{
		Conditions: conditions, Plan: []*operatorsv1alpha1.Step{
			{Resolving: "shop.v1", Resource: operatorsv1alpha1.StepResource{Kind: "Secret", Name: "other"}, Status: operatorsv1alpha1.StepStatusCreated},
			{Resolving: "shop.v1", Resource: role, Status: operatorsv1alpha1.StepStatusCreated},
		},
	}}
	installtest.Same[any](t, "the InstallPlan", want, installtest.OrPanic(withoutManifests(plan)))
}
