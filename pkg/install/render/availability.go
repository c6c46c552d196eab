package render

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// setReplicas is called after the hash is computed: a change of the number does not change a live Deployment.
func setReplicas(d *appsv1.Deployment, a subscriptions.Availability) {
	if a.Replicas > 0 {
		d.Spec.Replicas = new(a.Replicas)
	}
}

// schedule sets the priority and the spread of the pods. A constraint replaces those of the author for the same topology key.
func schedule(d *appsv1.Deployment, a subscriptions.Availability) {
	pod := &d.Spec.Template.Spec
	if a.PriorityClass != "" {
		pod.PriorityClassName = a.PriorityClass
		pod.Priority, pod.PreemptionPolicy = nil, nil // those of the class apply
	}
	for _, c := range a.Spread {
		c.LabelSelector = d.Spec.Selector.DeepCopy()
		pod.TopologySpreadConstraints = slices.DeleteFunc(pod.TopologySpreadConstraints, func(other corev1.TopologySpreadConstraint) bool { return other.TopologyKey == c.TopologyKey })
		pod.TopologySpreadConstraints = append(pod.TopologySpreadConstraints, c)
	}
}
