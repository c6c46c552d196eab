package doctor

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Workloads are the objects of a namespace that have pods made.
type Workloads struct {
	ReplicaSets  appsv1.ReplicaSetList
	Deployments  appsv1.DeploymentList
	StatefulSets appsv1.StatefulSetList
	DaemonSets   appsv1.DaemonSetList
}

// Templates are the labels of the pods that would be made if there were too few, of those
// that a selector selects. A Deployment has them made by the ReplicaSets that it wants pods
// of, which may be older than its own template; that is asked where there are none.
func (w Workloads) Templates(selector map[string]string) []map[string]string {
	var all []map[string]string
	made := map[types.UID]bool{}
	for _, r := range w.ReplicaSets.Items {
		if r.Spec.Replicas != nil && *r.Spec.Replicas == 0 {
			continue
		}
		all = append(all, r.Spec.Template.Labels)
		if owner := metav1.GetControllerOf(&r); owner != nil {
			made[owner.UID] = true
		}
	}
	for _, d := range w.Deployments.Items {
		if !made[d.UID] {
			all = append(all, d.Spec.Template.Labels)
		}
	}
	for _, s := range w.StatefulSets.Items {
		all = append(all, s.Spec.Template.Labels)
	}
	for _, d := range w.DaemonSets.Items {
		all = append(all, d.Spec.Template.Labels)
	}
	return selected(all, selector)
}

func selected(all []map[string]string, by map[string]string) []map[string]string {
	var some []map[string]string
	for _, one := range all {
		if labels.SelectorFromSet(by).Matches(labels.Set(one)) {
			some = append(some, one)
		}
	}
	return some
}
