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
