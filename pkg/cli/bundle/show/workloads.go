package show

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// workload has pods. Kind is empty for a Deployment of the ClusterServiceVersion.
type workload struct {
	kind, name string
	template   corev1.PodTemplateSpec
}

// work keeps an object of a bundle that has pods. Bundles may bring it with --allow-kind.
func (c *contents) work(kind string, o any) bool {
	w, is := workloadOf(o)
	if is {
		w.kind = kind
		c.workloads = append(c.workloads, w)
	}
	return is
}

func workloadOf(o any) (w workload, is bool) {
	switch o := o.(type) {
	case *corev1.Pod:
		return workload{name: o.Name, template: corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}}, true
	case *corev1.PodTemplate:
		return workload{name: o.Name, template: o.Template}, true
	case *corev1.ReplicationController:
		w.name = o.Name
		if o.Spec.Template != nil {
			w.template = *o.Spec.Template
		}
		return w, true
	case *appsv1.Deployment:
		return workload{name: o.Name, template: o.Spec.Template}, true
	case *appsv1.DaemonSet:
		return workload{name: o.Name, template: o.Spec.Template}, true
	case *appsv1.StatefulSet:
		return workload{name: o.Name, template: o.Spec.Template}, true
	case *appsv1.ReplicaSet:
		return workload{name: o.Name, template: o.Spec.Template}, true
	case *batchv1.Job:
		return workload{name: o.Name, template: o.Spec.Template}, true
	case *batchv1.CronJob:
		return workload{name: o.Name, template: o.Spec.JobTemplate.Spec.Template}, true
	default:
		return w, false
	}
}
