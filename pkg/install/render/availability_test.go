package render

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// availableInput is an operator with a Deployment that serves a webhook, and one that does not.
func availableInput(annotations map[string]string) Input {
	author := func(d *appsv1.DeploymentSpec) {
		d.Replicas = new(int32(2))
		pod := &d.Template.Spec
		pod.PriorityClassName, pod.Priority, pod.PreemptionPolicy = "low", new(int32(1)), new(corev1.PreemptNever)
		pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{MaxSkew: 5, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule}, {MaxSkew: 5, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway},
			{MaxSkew: 5, TopologyKey: "rack", WhenUnsatisfiable: corev1.DoNotSchedule},
		}
	}
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager", author), installtest.DeploymentOf("other", author)), installtest.ServedBy("manager"))
	in := inputOf(csv)
	in.Config.Subscription, in.Config.Annotations = "shop", annotations
	return in
}

func TestAvailability(t *testing.T) {
	const prefix = "olm-webhook-manager.io/availability-"
	plain := Objects(availableInput(nil)).Deployments
	scheduled := map[string]string{prefix + "priority-class": "high", prefix + "spread": "zone,host"}
	deployments := Objects(availableInput(scheduled)).Deployments
	pod := deployments[0].Object.Spec.Template.Spec
	installtest.Same(t, "the priority class", "high", pod.PriorityClassName)
	installtest.Same(t, "what the author wrote of his class", true, pod.Priority == nil && pod.PreemptionPolicy == nil)
	ours := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: deployments[0].Object.Spec.Selector, MatchLabelKeys: []string{"pod-template-hash"},
	}
	host := ours
	host.TopologyKey = "host"
	author := plain[0].Object.Spec.Template.Spec.TopologySpreadConstraints[2]
	installtest.Same(t, "the constraints", []corev1.TopologySpreadConstraint{author, ours, host}, pod.TopologySpreadConstraints)
	installtest.Same(t, "a Deployment that serves no webhook", plain[1].Object, deployments[1].Object)
	installtest.Same(t, "the replicas", int32(2), *deployments[0].Object.Spec.Replicas)

	scaled := Objects(availableInput(map[string]string{prefix + "replicas": "3"})).Deployments
	want := plain[0].Object.DeepCopy()
	want.Spec.Replicas = new(int32(3))
	installtest.Same(t, "only the replicas differ, not the hash or the number of the ClusterServiceVersion in the annotation", want, scaled[0].Object)
	installtest.Same(t, "a Deployment that serves no webhook", plain[1].Object, scaled[1].Object)
}
