package workload

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

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
