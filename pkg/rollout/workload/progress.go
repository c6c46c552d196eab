// Package workload reads the progress of a Deployment, and its cause, from the Deployment and its pods.
package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Progress is the progress of a Deployment.
type Progress struct {
	State   managerv1alpha1.DeploymentState
	Reason  string
	Message string
	// Available is set if enough replicas of any revision are available.
	Available bool
	// Exceeded is set if the Deployment is not complete at the end of its own progress deadline.
	Exceeded bool
	// Since is the last progress after the last change; zero for none.
	Since time.Time
	// Running is when all containers of a pod ran without being ready; zero for no such pod.
	Running time.Time
}

// Complete reports whether the rollout of the Deployment is complete.
func (p Progress) Complete() bool { return p.State == managerv1alpha1.DeploymentAvailable }

// ProgressOf reads a Deployment and its pods. A Deployment without replicas is complete.
func ProgressOf(d *appsv1.Deployment, pods []*corev1.Pod) Progress {
	if d == nil {
		return Progress{State: managerv1alpha1.DeploymentProgressing, Reason: managerv1alpha1.ReasonCreating, Message: "the Deployment is being created"}
	}
	p := Progress{Since: lastProgress(d), Running: runningUnready(pods)}
	wanted := ptr.Deref(d.Spec.Replicas, 1)
	availability := condition(d, appsv1.DeploymentAvailable)
	p.Available = wanted == 0 || availability != nil && availability.Status == corev1.ConditionTrue

	cause := missing(d, wanted, availability)
	if wanted == 0 || cause == "" {
		p.State = managerv1alpha1.DeploymentAvailable
		return p
	}
	p.State = managerv1alpha1.DeploymentProgressing
	p.Reason = managerv1alpha1.ReasonWaitingForReplicas
	p.Message = fmt.Sprintf("deployment %q not available: %s", d.Name, cause)
	if exceeded(d) {
		p.Exceeded, p.Message = true, fmt.Sprintf("deployment %q exceeded its progress deadline: %s", d.Name, cause)
	}
	if failure := condition(d, appsv1.DeploymentReplicaFailure); failure != nil && failure.Status == corev1.ConditionTrue {
		p.Reason, p.Message = managerv1alpha1.ReasonReplicaFailure, fmt.Sprintf("%s: its pods cannot be created: %s", strings.TrimSuffix(p.Message, "."), failure.Message)
	} else if diagnosis := diagnose(pods); diagnosis.reason != "" {
		p.Reason, p.Message = diagnosis.reason, fmt.Sprintf("%s: %s", strings.TrimSuffix(p.Message, "."), diagnosis.message)
	}
	return p
}

// Outdated replaces the progress that a status reports about a previous template.
func (p Progress) Outdated(name string) Progress {
	p.State, p.Reason = managerv1alpha1.DeploymentProgressing, managerv1alpha1.ReasonUpdating
	p.Message = fmt.Sprintf("deployment %q not available: it is being updated", name)
	p.Since, p.Exceeded = time.Time{}, false
	return p
}

// missing returns what the status of a Deployment lacks; empty if it is rolled out.
func missing(d *appsv1.Deployment, wanted int32, availability *appsv1.DeploymentCondition) string {
	status := d.Status
	switch {
	case status.ObservedGeneration < d.Generation:
		return "the Deployment controller has not observed it yet"
	case availability != nil && availability.Status != corev1.ConditionTrue:
		return availability.Message
	case status.UpdatedReplicas < wanted:
		return fmt.Sprintf("%d of %d replicas are updated", status.UpdatedReplicas, wanted)
	case status.Replicas > status.UpdatedReplicas:
		return fmt.Sprintf("%d old replicas are not gone yet", status.Replicas-status.UpdatedReplicas)
	case status.AvailableReplicas < status.UpdatedReplicas:
		return fmt.Sprintf("%d of %d updated replicas are available", status.AvailableReplicas, status.UpdatedReplicas)
	default:
		return ""
	}
}

// exceeded ignores a status of an earlier generation.
func exceeded(d *appsv1.Deployment) bool {
	const reason = "ProgressDeadlineExceeded" // of the Deployment controller, which exports no constant
	progressing := condition(d, appsv1.DeploymentProgressing)
	return d.Status.ObservedGeneration >= d.Generation && progressing != nil && progressing.Reason == reason
}

func condition(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	i := slices.IndexFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &d.Status.Conditions[i]
}

// A status of an earlier generation reports nothing about this one.
func lastProgress(d *appsv1.Deployment) time.Time {
	if seen := d.Status.ObservedGeneration; seen > 0 && seen < d.Generation {
		return time.Time{}
	}
	last := d.CreationTimestamp.Time
	for _, c := range d.Status.Conditions {
		last = Later(last, c.LastTransitionTime.Time)
		if c.Type == appsv1.DeploymentProgressing {
			last = Later(last, c.LastUpdateTime.Time)
		}
	}
	return last
}

// Later returns the later of two instants.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// The first pod counts whose containers all run and are not all ready.
func runningUnready(pods []*corev1.Pod) time.Time {
	var earliest time.Time
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil || len(pod.Status.ContainerStatuses) == 0 {
			continue
		}
		var started time.Time
		running, ready := true, true
		for _, c := range pod.Status.ContainerStatuses {
			ready = ready && c.Ready
			running = running && c.State.Running != nil
			if c.State.Running != nil {
				started = Later(started, c.State.Running.StartedAt.Time)
			}
		}
		if running && !ready && (earliest.IsZero() || started.Before(earliest)) {
			earliest = started
		}
	}
	return earliest
}

// diagnosis is the most useful cause among pods that are not ready.
type diagnosis struct{ reason, message string }

// diagnose reads the pods in the order of their names, so that the result is stable.
func diagnose(pods []*corev1.Pod) diagnosis {
	pods = slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	var found diagnosis
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		switch d := diagnosePod(pod); d.reason {
		case "":
		case managerv1alpha1.ReasonPodNotReady:
			if found.reason == "" {
				found = d
			}
		default:
			return d
		}
	}
	return found
}

func diagnosePod(pod *corev1.Pod) diagnosis {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return diagnosis{managerv1alpha1.ReasonPodUnschedulable, fmt.Sprintf("pod %s cannot be scheduled: %s", pod.Name, c.Message)}
		}
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if d := diagnoseWaiting(pod, c); d.reason != "" {
			return d
		}
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Running != nil && !c.Ready {
			return diagnosis{managerv1alpha1.ReasonPodNotReady, fmt.Sprintf("pod %s: container %s runs and its readiness probe fails; if it stays so, look at the pod's events: kubectl -n %s describe pod %s",
				pod.Name, c.Name, pod.Namespace, pod.Name)}
		}
	}
	return diagnosis{}
}

func diagnoseWaiting(pod *corev1.Pod, c corev1.ContainerStatus) diagnosis {
	waiting, ended := c.State.Waiting, c.LastTerminationState.Terminated
	if waiting == nil {
		return diagnosis{}
	}
	switch reason := waiting.Reason; reason {
	case "", "PodInitializing":
		return diagnosis{}
	case "ContainerCreating":
		return diagnosis{managerv1alpha1.ReasonPodNotReady, fmt.Sprintf("pod %s: container %s is being created; if it stays so, look at the pod's events: kubectl -n %s describe pod %s",
			pod.Name, c.Name, pod.Namespace, pod.Name)}
	case "ErrImagePull", "ImagePullBackOff":
		return diagnosis{managerv1alpha1.ReasonImagePullFailed, fmt.Sprintf("pod %s: container %s has no image: correct its name in the ClusterServiceVersion, or let the nodes pull it: %s",
			pod.Name, c.Name, cmp.Or(waiting.Message, reason))}
	case "CrashLoopBackOff":
		if ended != nil {
			return diagnosis{reason, fmt.Sprintf("pod %s: container %s ends with exit code %d (%s) repeatedly; read its log: kubectl -n %s logs %s -c %s --previous",
				pod.Name, c.Name, ended.ExitCode, ended.Reason, pod.Namespace, pod.Name, c.Name)}
		}
	}
	return diagnosis{waiting.Reason, fmt.Sprintf("pod %s: container %s waits: %s", pod.Name, c.Name, cmp.Or(waiting.Message, waiting.Reason))}
}

// RestartCosts returns why calls fail even if restarted pods drain; empty if they do not.
func RestartCosts(d *appsv1.Deployment) string {
	if d == nil {
		return ""
	}
	wanted := int(ptr.Deref(d.Spec.Replicas, 1))
	rolling := d.Spec.Strategy.RollingUpdate
	switch {
	case wanted == 0:
		return ""
	case d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return "the strategy Recreate of deployment " + d.Name + " ends all pods before it starts new ones"
	case rolling != nil && unavailable(rolling, wanted) >= wanted:
		return "the maxUnavailable of deployment " + d.Name + " lets all its pods end at once"
	default:
		return ""
	}
}

// unavailable counts pods as the Deployment controller does.
func unavailable(rolling *appsv1.RollingUpdateDeployment, replicas int) int {
	scaled := func(value *intstr.IntOrString, roundUp bool) int {
		if value == nil {
			return 0
		}
		n, err := intstr.GetScaledValueFromIntOrPercent(value, replicas, roundUp)
		if err != nil {
			return 0 // the API server lets no such value in
		}
		return n
	}
	n := scaled(rolling.MaxUnavailable, false)
	if n == 0 && scaled(rolling.MaxSurge, true) == 0 {
		return 1
	}
	return n
}
