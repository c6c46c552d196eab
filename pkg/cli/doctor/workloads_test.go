package doctor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

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

	var got []string
	for _, labels := range w.Templates(map[string]string{"app": "shop"}) {
		got = append(got, labels["by"])
	}
	if diff := cmp.Diff([]string{"version-2", "version-3", "rollout", "scaled-down", "stateful-set", "daemon-set"}, got); diff != "" {
		t.Errorf("templates (-want +got):\n%s", diff)
	}
}
