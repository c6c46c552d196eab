package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// runDeployments is the controllers of Deployments and ReplicaSets.
func (w *World) runDeployments(ctx context.Context) error {
	var errs []error
	for _, d := range list(w.objects.deployments) {
		if d.DeletionTimestamp == nil {
			errs = append(errs, w.runDeployment(ctx, d))
		}
	}
	return errors.Join(errs...)
}

func (w *World) runDeployment(ctx context.Context, d *appsv1.Deployment) error {
	current, err := w.replicaSet(ctx, d)
	if err != nil || current == nil {
		return err
	}
	updated, old := w.podsOf(d, current)
	ready := count(updated, isReady)
	var errs []error
	for _, i := range w.freeNumbers(current, int(*d.Spec.Replicas)-len(updated)) {
		errs = append(errs, w.createPod(ctx, current, i))
	}
	for i := int(*d.Spec.Replicas); i < len(updated); i++ {
		errs = append(errs, w.deletePod(ctx, updated[i]))
	}
	if ready >= int(*d.Spec.Replicas) {
		for _, p := range old {
			errs = append(errs, w.deletePod(ctx, p))
		}
	}
	return errors.Join(append(errs, w.reportDeployment(ctx, d, updated, old))...)
}

// replicaSet returns the ReplicaSet of the template, or nil if it has just been created.
func (w *World) replicaSet(ctx context.Context, d *appsv1.Deployment) (*appsv1.ReplicaSet, error) {
	hash := templateHash(d.Spec.Template)
	name := d.Name + "-" + hash
	if rs, err := w.objects.replicaSets.ReplicaSets(d.Namespace).Get(name); err == nil {
		return rs, nil
	}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: d.Namespace, Name: name, Labels: withHash(d.Spec.Template.Labels, hash),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
	}}
	rs.Spec = appsv1.ReplicaSetSpec{Replicas: d.Spec.Replicas, Selector: d.Spec.Selector.DeepCopy(), Template: *d.Spec.Template.DeepCopy()}
	rs.Spec.Selector.MatchLabels = withHash(rs.Spec.Selector.MatchLabels, hash)
	rs.Spec.Template.Labels = withHash(rs.Spec.Template.Labels, hash)
	_, err := w.Kube.AppsV1().ReplicaSets(d.Namespace).Create(ctx, rs, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = nil
	}
	return nil, err
}

func templateHash(template corev1.PodTemplateSpec) string {
	h := fnv.New32a()
	_ = json.NewEncoder(h).Encode(template) // a hash accepts everything
	return fmt.Sprintf("%08x", h.Sum32())
}

func withHash(labels map[string]string, hash string) map[string]string {
	all := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}
	for k, v := range labels {
		all[k] = v
	}
	return all
}

// podsOf returns the pods of the current ReplicaSet of a Deployment, and those of the others.
func (w *World) podsOf(d *appsv1.Deployment, current *appsv1.ReplicaSet) (updated, old []*corev1.Pod) {
	owned := map[string]bool{}
	for _, rs := range list(w.objects.replicaSets) {
		owned[string(rs.UID)] = metav1.IsControlledBy(rs, d)
	}
	for _, p := range list(w.objects.pods) {
		owner := metav1.GetControllerOf(p)
		switch {
		case owner == nil || p.DeletionTimestamp != nil:
		case owner.UID == current.UID:
			updated = append(updated, p)
		case owned[string(owner.UID)]:
			old = append(old, p)
		}
	}
	return updated, old
}

// freeNumbers returns n numbers that no pod of a ReplicaSet has.
func (w *World) freeNumbers(rs *appsv1.ReplicaSet, n int) (free []int) {
	for i := 0; len(free) < n; i++ {
		if _, err := w.objects.pods.Pods(rs.Namespace).Get(podName(rs, i)); err != nil {
			free = append(free, i)
		}
	}
	return free
}

func podName(rs *appsv1.ReplicaSet, i int) string { return fmt.Sprintf("%s-%d", rs.Name, i) }

func (w *World) createPod(ctx context.Context, rs *appsv1.ReplicaSet, i int) error {
	p := &corev1.Pod{ObjectMeta: *rs.Spec.Template.ObjectMeta.DeepCopy(), Spec: *rs.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.Name = rs.Namespace, podName(rs, i)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	p.Spec.NodeName = fmt.Sprint("node-", i)
	_, err := w.Kube.CoreV1().Pods(rs.Namespace).Create(ctx, p, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func (w *World) deletePod(ctx context.Context, p *corev1.Pod) error {
	return ignoreAbsent(w.Kube.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(p.UID))}))
}

func ignoreAbsent(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (w *World) reportDeployment(ctx context.Context, d *appsv1.Deployment, updated, old []*corev1.Pod) error {
	ready := int32(count(updated, isReady) + count(old, isReady))
	status := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: int32(len(updated) + len(old)), UpdatedReplicas: int32(len(updated)),
		ReadyReplicas: ready, AvailableReplicas: ready, Conditions: d.Status.DeepCopy().Conditions,
	}
	status.UnavailableReplicas = max(0, status.Replicas-ready)
	enough := ready >= *d.Spec.Replicas
	status.Conditions = setCondition(status.Conditions, appsv1.DeploymentAvailable, enough, "MinimumReplicasAvailable", "MinimumReplicasUnavailable")
	complete := enough && len(old) == 0 && status.UpdatedReplicas == *d.Spec.Replicas
	status.Conditions = setProgress(status.Conditions, complete)
	if equality.Semantic.DeepEqual(status, d.Status) {
		return nil
	}
	changed := d.DeepCopy()
	changed.Status = status
	_, err := w.Kube.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}
