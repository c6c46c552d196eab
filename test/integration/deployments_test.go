package integration

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/retry"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// runDeployments plays the Deployment controller and its pods: every Deployment of
// the test's Namespace is available as soon as it exists, except for those named.
func (e *env) runDeployments(except ...string) {
	e.Helper()
	client := e.kube.AppsV1().Deployments(e.namespace)
	w := kube.Watch(e, client, metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	go func() {
		for event := range w.ResultChan() {
			d, ok := event.Object.(*appsv1.Deployment)
			if !ok || event.Type == watch.Deleted || slices.Contains(except, d.Name) || d.Status.ObservedGeneration == d.Generation {
				continue
			}
			// A conflict is left to the event that caused it.
			if err := setStatus(e, d, true); err != nil && e.ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				e.Errorf("status of deployment %s: %v", d.Name, err)
			}
		}
	}()
}

func setAvailable(e *env, deployment string, available bool) {
	e.Helper()
	e.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		d, err := e.kube.AppsV1().Deployments(e.namespace).Get(e.ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return setStatus(e, d, available)
	}))
}

// serverStarts makes Deployment server available, and waits until operator.v1 succeeds.
func serverStarts(e *env) {
	e.Helper()
	setAvailable(e, "server", true)
	e.succeeds("operator.v1")
}

func setStatus(e *env, d *appsv1.Deployment, available bool) error {
	replicas := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: replicas, UpdatedReplicas: replicas}
	condition := appsv1.DeploymentCondition{
		Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable",
		Message: "Deployment does not have minimum availability.", LastTransitionTime: metav1.Now(),
	}
	if available {
		d.Status.ReadyReplicas, d.Status.AvailableReplicas = replicas, replicas
		condition.Status, condition.Reason, condition.Message = corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability."
	}
	d.Status.Conditions = []appsv1.DeploymentCondition{condition}
	_, err := e.kube.AppsV1().Deployments(d.Namespace).UpdateStatus(e.ctx, d, metav1.UpdateOptions{})
	return err
}

func (e *env) deployment(name string) *appsv1.Deployment {
	e.Helper()
	d, err := e.kube.AppsV1().Deployments(e.namespace).Get(e.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	e.must(err)
	return d
}
