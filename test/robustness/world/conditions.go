package world

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func count[T any](all []T, is func(T) bool) (n int) {
	for _, one := range all {
		if is(one) {
			n++
		}
	}
	return n
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func setCondition(all []appsv1.DeploymentCondition, kind appsv1.DeploymentConditionType, holds bool, reason, otherwise string) []appsv1.DeploymentCondition {
	status := corev1.ConditionTrue
	if !holds {
		status, reason = corev1.ConditionFalse, otherwise
	}
	return putCondition(all, appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason})
}

func setProgress(all []appsv1.DeploymentCondition, complete bool) []appsv1.DeploymentCondition {
	reason := "ReplicaSetUpdated"
	if complete {
		reason = "NewReplicaSetAvailable"
	}
	return putCondition(all, appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: reason})
}

// putCondition keeps the times of a condition that does not change.
func putCondition(all []appsv1.DeploymentCondition, c appsv1.DeploymentCondition) []appsv1.DeploymentCondition {
	for i, old := range all {
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status && old.Reason == c.Reason {
			return all
		}
		c.LastUpdateTime, c.LastTransitionTime = metav1.Now(), old.LastTransitionTime
		if old.Status != c.Status {
			c.LastTransitionTime = metav1.Now()
		}
		all[i] = c
		return all
	}
	c.LastUpdateTime, c.LastTransitionTime = metav1.Now(), metav1.Now()
	return append(all, c)
}
