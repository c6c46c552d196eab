package doctor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStaying(t *testing.T) {
	labels := map[string]string{"app": "shop"}
	is := func(condition corev1.PodConditionType, status corev1.ConditionStatus) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: condition, Status: status})
		}
	}
	in := func(phase corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = phase } }
	placed := func(p *corev1.Pod) { p.Spec.NodeName = "node" }
	for name, test := range map[string]struct {
		given []func(*corev1.Pod)
		want  []Pod
	}{
		"made":                           {nil, []Pod{{Labels: labels}}},
		"placed":                         {[]func(*corev1.Pod){placed}, []Pod{{Labels: labels, Placed: true}}},
		"ready":                          {[]func(*corev1.Pod){placed, in(corev1.PodRunning), is(corev1.PodReadyToStartContainers, corev1.ConditionTrue), is(corev1.PodReady, corev1.ConditionTrue)}, []Pod{{labels, true, true, true}}},
		"crashed":                        {[]func(*corev1.Pod){placed, in(corev1.PodRunning), is(corev1.PodReadyToStartContainers, corev1.ConditionTrue), is(corev1.PodReady, corev1.ConditionFalse)}, []Pod{{labels, true, true, false}}},
		"on a new boot":                  {[]func(*corev1.Pod){placed, in(corev1.PodRunning), is(corev1.PodReadyToStartContainers, corev1.ConditionFalse)}, []Pod{{labels, true, false, false}}},
		"pulled":                         {[]func(*corev1.Pod){placed, in(corev1.PodPending), is(corev1.PodReadyToStartContainers, corev1.ConditionTrue)}, []Pod{{labels, true, true, false}}},
		"of a kubelet that does not say": {[]func(*corev1.Pod){placed, in(corev1.PodRunning)}, []Pod{{labels, true, true, false}}},
		"deleted":                        {[]func(*corev1.Pod){placed, in(corev1.PodRunning), func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now)) }}, nil},
		"evicted":                        {[]func(*corev1.Pod){placed, in(corev1.PodFailed)}, nil},
		"ended":                          {[]func(*corev1.Pod){placed, in(corev1.PodSucceeded)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
			for _, change := range test.given {
				change(&pod)
			}
			if diff := cmp.Diff(test.want, Staying([]corev1.Pod{pod})); diff != "" {
				t.Errorf("staying pods (-want +got):\n%s", diff)
			}
		})
	}
}
