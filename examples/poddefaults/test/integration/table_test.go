package integration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/mergetest"
)

// TestTable has the API server create the pods of the table.
func TestTable(t *testing.T) {
	cases, err := mergetest.Table()
	if err != nil {
		t.Fatal(err)
	}
	o := startOperator(t)
	for _, c := range cases {
		t.Run(c.Row+"/"+c.Name, func(t *testing.T) {
			namespace := o.newNamespace(t)
			applied := o.createPodDefaults(t, c.PodDefaults(namespace))
			if len(c.Conflicts) > 0 {
				o.expectDenied(t, namespace, &c.Pod, c.Conflicts)
				return
			}
			got := o.createWith(t, namespace, &c.Pod, applied)
			if diff := cmp.Diff(o.asStored(t, namespace, &c.Want), timeless(got)); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}

// createWith creates a pod, as soon as the operator knows all PodDefaults, and returns it.
func (o *operator) createWith(t *testing.T, namespace string, pod *corev1.Pod, applied map[string]string) (created *corev1.Pod) {
	t.Helper()
	eventually(t, func() (bool, any) {
		var err error
		created, err = o.create(t, namespace, pod)
		if err != nil {
			t.Fatal(err)
		}
		return cmp.Equal(applied, appliedTo(created)), created.Annotations
	})
	return created
}

// expectDenied wants a message that has every conflict and nothing more.
func (o *operator) expectDenied(t *testing.T, namespace string, pod *corev1.Pod, conflicts []string) {
	t.Helper()
	want := "err: [" + strings.Join(conflicts, "; ") + "]; "
	eventually(t, func() (bool, any) {
		_, err := o.create(t, namespace, pod)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), want), err
	})
}

// asStored is a pod that no PodDefault is applied to, with the defaults of the API server.
func (o *operator) asStored(t *testing.T, namespace string, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, merge.ExcludeAnnotation, "true")
	stored, err := o.create(t, namespace, pod)
	if err != nil {
		t.Fatal(err)
	}
	delete(stored.Annotations, merge.ExcludeAnnotation)
	return timeless(stored)
}

// create is a dry run, which goes the whole way but for the last step.
func (o *operator) create(t *testing.T, namespace string, pod *corev1.Pod) (*corev1.Pod, error) {
	pod = pod.DeepCopy()
	pod.Name = "pod"
	return o.kube.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}
