package merge_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func parse[T any](t *testing.T, text string) *T {
	t.Helper()
	value := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), value); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return value
}

// specs returns PodDefaults with these specs, the names a, b, c and the versions 1, 2, 3.
func specs(t *testing.T, texts ...string) []*v1alpha1.PodDefault {
	t.Helper()
	var all []*v1alpha1.PodDefault
	for i, text := range texts {
		d := &v1alpha1.PodDefault{Spec: *parse[v1alpha1.PodDefaultSpec](t, text)}
		d.Name, d.ResourceVersion = string(rune('a'+i)), fmt.Sprint(i+1)
		all = append(all, d)
	}
	return all
}

// show returns a pod without the annotations that every PodDefault adds.
func show(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	pod = pod.DeepCopy()
	for _, name := range []string{"a", "b", "c"} {
		delete(pod.Annotations, "poddefault.admission.kubeflow.org/poddefault-"+name)
	}
	pod.Status = corev1.PodStatus{}
	text, err := yaml.Marshal(pod)
	installtest.Must(t, err)
	return string(text)
}
