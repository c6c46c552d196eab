package doctor

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
		"made":                                 {nil, []Pod{{Labels: labels}}},
		"placed":                               {[]func(*corev1.Pod){placed}, []Pod{{Labels: labels, Placed: true}}},
		"ready":                                {[]func(*corev1.Pod){placed, in(corev1.PodRunning), is(corev1.PodReadyToStartContainers, corev1.ConditionTrue), is(corev1.PodReady, corev1.ConditionTrue)}, []Pod{{labels, true, true, true}}},
		"crashed":                              {[]func(*corev1.Pod){placed, in(corev1.PodRunning), is(corev1.PodReadyToStartContainers, corev1.ConditionTrue), is(corev1.PodReady, corev1.ConditionFalse)}, []Pod{{labels, true, true, false}}},
		"on a new boot":                        {[]func(*corev1.Pod){placed, in(corev1.PodRunning), is(corev1.PodReadyToStartContainers, corev1.ConditionFalse)}, []Pod{{labels, true, false, false}}},
		"pulled":                               {[]func(*corev1.Pod){placed, in(corev1.PodPending), is(corev1.PodReadyToStartContainers, corev1.ConditionTrue)}, []Pod{{labels, true, true, false}}},
		"of a kubelet that does not report it": {[]func(*corev1.Pod){placed, in(corev1.PodRunning)}, []Pod{{labels, true, true, false}}},
		"deleted":                              {[]func(*corev1.Pod){placed, in(corev1.PodRunning), func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now)) }}, nil},
		"evicted":                              {[]func(*corev1.Pod){placed, in(corev1.PodFailed)}, nil},
		"ended":                                {[]func(*corev1.Pod){placed, in(corev1.PodSucceeded)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
			for _, change := range test.given {
				change(&pod)
			}
			installtest.Same(t, "staying pods", test.want, LivePods([]corev1.Pod{pod}))
		})
	}
}

func TestLeftOver(t *testing.T) {
	pod := func(phase corev1.PodPhase) []corev1.Pod {
		return []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "hook-0", UID: "second", DeletionTimestamp: new(metav1.NewTime(now))}, Status: corev1.PodStatus{Phase: phase}}}
	}
	for name, test := range map[string]struct {
		of   *corev1.ObjectReference
		pods []corev1.Pod
		want bool
	}{
		"of a pod that exists until it ends":  {&corev1.ObjectReference{Kind: "Pod", Name: "hook-0", UID: "second"}, pod(corev1.PodRunning), false},
		"of a pod with no other message":      {&corev1.ObjectReference{Kind: "Pod", Name: "hook-0"}, pod(corev1.PodRunning), false},
		"of a pod that no longer exists":      {&corev1.ObjectReference{Kind: "Pod", Name: "hook-1"}, pod(corev1.PodRunning), true},
		"of the pod before, of the same name": {&corev1.ObjectReference{Kind: "Pod", Name: "hook-0", UID: "first"}, pod(corev1.PodRunning), true},
		"of a pod that was evicted":           {&corev1.ObjectReference{Kind: "Pod", Name: "hook-0"}, pod(corev1.PodFailed), true},
		"of something else":                   {&corev1.ObjectReference{Kind: "Machine", Name: "hook-1"}, nil, false},
		"without a target":                    {nil, nil, false},
	} {
		installtest.Same(t, name+": left over", test.want, LeftOver(test.of, test.pods))
	}
}

func TestTemplates(t *testing.T) {
	labelled := func(by string, app ...string) corev1.PodTemplateSpec {
		labels := map[string]string{"app": "shop", "by": by}
		for _, other := range app {
			labels["app"] = other
		}
		return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	}
	deployment := func(uid types.UID, template corev1.PodTemplateSpec) appsv1.Deployment {
		return appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: uid}, Spec: appsv1.DeploymentSpec{Template: template}}
	}
	replicaSet := func(of types.UID, wants *int32, template corev1.PodTemplateSpec) appsv1.ReplicaSet {
		return appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: of, Controller: new(true)}}},
			Spec:       appsv1.ReplicaSetSpec{Replicas: wants, Template: template},
		}
	}
	var w Workloads
	w.Deployments.Items = []appsv1.Deployment{
		deployment("rolled", labelled("deployment")), deployment("scaled down", labelled("scaled-down")), deployment("other", labelled("other", "bank")),
	}
	w.ReplicaSets.Items = []appsv1.ReplicaSet{
		replicaSet("rolled", new(int32(0)), labelled("version-1")), replicaSet("rolled", new(int32(2)), labelled("version-2")), replicaSet("rolled", nil, labelled("version-3")),
		replicaSet("scaled down", new(int32(0)), labelled("version-1")), replicaSet("elsewhere", new(int32(1)), labelled("rollout")),
	}
	w.StatefulSets.Items = []appsv1.StatefulSet{{Spec: appsv1.StatefulSetSpec{Template: labelled("stateful-set")}}}
	w.DaemonSets.Items = []appsv1.DaemonSet{{Spec: appsv1.DaemonSetSpec{Template: labelled("daemon-set")}}, {Spec: appsv1.DaemonSetSpec{Template: labelled("daemon-set", "bank")}}}

	got := lists.Map(w.Templates(map[string]string{"app": "shop"}), func(labels map[string]string) string { return labels["by"] })
	installtest.Same(t, "templates", []string{"version-2", "version-3", "rollout", "scaled-down", "stateful-set", "daemon-set"}, got)
}
