package doctor

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Pod is one that a Service selects, and how far it has come.
type Pod struct {
	Labels map[string]string
	// Placed tells that it has a node; Started, that its volumes are mounted, its token
	// among them; Ready, that it says so itself.
	Placed, Started, Ready bool
}

// Staying are the pods that go on by themselves, restarted in place if need be. One that is
// being deleted, or has ended, comes back only as another one.
func Staying(pods []corev1.Pod) []Pod {
	var staying []Pod
	for _, p := range pods {
		if p.DeletionTimestamp == nil && !ended(p) {
			staying = append(staying, Pod{Labels: p.Labels, Placed: p.Spec.NodeName != "", Started: started(p), Ready: is(p, corev1.PodReady, corev1.ConditionTrue)})
		}
	}
	return staying
}

// LeftOver reports whether the pod behind an endpoint is none of these any more. Endpoints outlive
// their pods where a webhook refuses that they are written.
func LeftOver(of *corev1.ObjectReference, pods []corev1.Pod) bool {
	return of != nil && of.Kind == "Pod" && !slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		return p.Name == of.Name && (of.UID == "" || p.UID == of.UID) && !ended(p)
	})
}

func ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// started asks the phase where the kubelet does not report the condition.
func started(p corev1.Pod) bool {
	return is(p, corev1.PodReadyToStartContainers, corev1.ConditionTrue) ||
		p.Status.Phase == corev1.PodRunning && !is(p, corev1.PodReadyToStartContainers, corev1.ConditionFalse)
}

func is(p corev1.Pod, condition corev1.PodConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition && c.Status == status })
}
