package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// newExample is the Namespace of an example's README. Its context also serves the cleanup, which deletes the
// ClusterServiceVersions first, so that no webhook outlives its server.
func newExample(t *testing.T, namespace, installed string) *env {
	t.Helper()
	e := &env{T: t, ctx: context.WithoutCancel(t.Context()), namespace: namespace, began: metav1.Now()}
	e.Cleanup(func() {
		if e.Failed() {
			e.explain()
		}
		e.kubectl("delete", "csv", "--all", "-n", namespace, "--wait", "--ignore-not-found")
		endPods(e)
		e.kubectl("delete", "-k", installed, "--ignore-not-found")
		installtest.None(e, "registrations after the example no longer exists", e.registrations())
	})
	return e
}

func applyBundle(e *env, folder, csv string) {
	e.Helper()
	e.kubectl("apply", "--server-side", "-n", e.namespace, "-f", folder+"/manifests")
	e.succeeds(csv)
}

// restart replaces a Deployment's pods one after the other, and returns when the last of them no longer exists.
func restart(e *env, deployment string) {
	e.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	kube.Patch(e, kubeClient.AppsV1().Deployments(e.namespace), deployment, types.StrategicMergePatchType, []byte(patch))
	e.rolledOut(deployment)
}

func (e *env) rolledOut(deployment string) {
	e.Helper()
	e.eventually(deployment+" is rolled out", func() (bool, any) {
		d := kube.Get(e, kubeClient.AppsV1().Deployments(e.namespace), deployment)
		s, wanted, there := d.Status, *d.Spec.Replicas, int32(len(podsOf(e, deployment)))
		return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == wanted && s.AvailableReplicas == wanted && there == wanted, s
	})
}

func podsOf(e *env, deployment string) []corev1.Pod {
	e.Helper()
	d := kube.Get(e, kubeClient.AppsV1().Deployments(e.namespace), deployment)
	return kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)}).Items
}

func isReady(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// kill takes the pods of a Deployment away at once and leaves them no time. It returns when others work in their place.
func kill(e *env, deployment string) {
	e.Helper()
	killed := map[types.UID]bool{}
	for _, pod := range podsOf(e, deployment) {
		killed[pod.UID] = true
		if err := kubeClient.CoreV1().Pods(e.namespace).Delete(e.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); !apierrors.IsNotFound(err) {
			e.must(err)
		}
	}
	e.eventually("other pods exist for "+deployment, func() (bool, any) {
		for _, pod := range podsOf(e, deployment) {
			if killed[pod.UID] {
				return false, pod.Name
			}
		}
		return true, nil
	})
	e.rolledOut(deployment)
}
