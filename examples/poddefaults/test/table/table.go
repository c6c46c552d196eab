// Package table has an API server with the operator create the pods of the table.
package table

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/mergetest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Check checks all rows: the resulting pod, or each conflict.
func (n *Namespace) Check(t *testing.T) {
	cases, err := mergetest.Table()
	installtest.Must(t, err)
	for _, c := range cases {
		t.Run(c.Row+"/"+c.Name, func(t *testing.T) {
			applied := n.CreatePodDefaults(t, c.PodDefaults(n.Name))
			if len(c.Conflicts) > 0 {
				n.expectDenied(t, &c)
				return
			}
			got := n.CreateWith(t, &c.Pod, applied)
			installtest.Same(t, "pod", n.asStored(t, &c.Want), timeless(got))
		})
	}
}

// CreateWith creates a pod when the operator knows exactly these PodDefaults, by name and resourceVersion.
func (n *Namespace) CreateWith(t *testing.T, pod *corev1.Pod, applied map[string]string) (created *corev1.Pod) {
	t.Helper()
	eventually(t, func() (bool, any) {
		var err error
		if created, err = n.create(t, pod); err != nil {
			return false, err
		}
		return cmp.Equal(applied, appliedTo(created)), created.Annotations
	})
	return created
}

// expectDenied requires a message with all PodDefaults and every conflict.
func (n *Namespace) expectDenied(t *testing.T, c *mergetest.Case) {
	t.Helper()
	want := fmt.Sprintf("conflict occurred while applying poddefaults: %s on pod: pod err: [%s]; ",
		merge.Names(c.PodDefaults(n.Name)), strings.Join(c.Conflicts, "; "))
	eventually(t, func() (bool, any) {
		_, err := n.create(t, &c.Pod)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), want), err
	})
}

// asStored returns the pod with the defaults of the API server, and no PodDefault.
func (n *Namespace) asStored(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, merge.ExcludeAnnotation, "true")
	stored, err := n.create(t, pod)
	installtest.Must(t, err)
	delete(stored.Annotations, merge.ExcludeAnnotation)
	return timeless(stored)
}

// create creates the pod in a dry run.
func (n *Namespace) create(t *testing.T, pod *corev1.Pod) (*corev1.Pod, error) {
	pod = pod.DeepCopy()
	pod.Name = "pod"
	return n.client.CoreV1().Pods(n.Name).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}
