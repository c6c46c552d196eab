package integration

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// replicasOf is zero while there is no Deployment.
func replicasOf(e *env, name string) int32 {
	e.Helper()
	if d := e.deployment(name); d != nil {
		return *d.Spec.Replicas
	}
	return 0
}

func scale(e *env, name string, replicas int32) {
	e.Helper()
	_, err := e.kube.AppsV1().Deployments(e.namespace).UpdateScale(e.ctx, name, &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
	}, metav1.UpdateOptions{})
	e.must(err)
}

// A Deployment is created with the replicas of the annotation. Afterwards, kubectl scale wins, also when the annotation
// changes, and a recreated Deployment has the number of the annotation.
func TestReplicasAtCreation(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{Annotations: withPrefix(map[string]string{"availability-replicas": "3", "leader-election": "true"})})
	m := runOperator(e)
	installtest.Same(t, "replicas at creation", int32(3), replicasOf(e, "server"))
	m.settles("operator.v1")
	m.stop()
	next := e.manage()
	next.looksAgain("operator.v1")
	next.writesNothing(next.started)

	scale(e, "server", 1)
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) {
		c.Annotations = withPrefix(map[string]string{"availability-replicas": "4", "leader-election": "true"})
		c.Annotations["example.com/team"] = "blue"
	})
	comesToBear(e, "blue")
	installtest.Same(t, "replicas after kubectl scale and a rollout", int32(1), replicasOf(e, "server"))

	e.must(e.kube.AppsV1().Deployments(e.namespace).Delete(e.ctx, "server", metav1.DeleteOptions{}))
	replicas := func() int32 { return replicasOf(e, "server") }
	becomes(e, "the Deployment is recreated with the number of the annotation", replicas, 4)

	scale(e, "server", 1)
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Replicas = new(int32(2))
	})
	becomes(e, "the number of the annotation replaces a new number of the ClusterServiceVersion", replicas, 4)
}

// An operator that is not known to elect a leader keeps its number of replicas, and the condition has the next step.
func TestReplicasWithoutLeaderElection(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{Annotations: withPrefix(map[string]string{"availability-replicas": "3"})})
	m := runOperator(e)
	installtest.Same(t, "replicas", int32(1), replicasOf(e, "server"))
	m.emits("Warning ConfigRefused")
	installtest.Contains(t, conditionIn(e.rollout("operator.v1").Conditions, "ConfigRefused").Message,
		"does not apply to Deployment server", wellknown.AnnotationLeaderElection)
}

// The pods have the spread and the priority of the annotations. A PriorityClass that does not exist is ignored until it
// exists: the API server would refuse the pods.
func TestScheduling(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	class := e.namespace
	granted := grantedTo(e, "manager/clusterrole.yaml")
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{Annotations: withPrefix(map[string]string{
		"availability-spread": "topology.kubernetes.io/zone", "availability-priority-class": class,
	})})
	m := manageThrough(e, granted)
	e.install(csv("operator.v1", "server"))
	d := e.deployment("server")
	constraint := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: "topology.kubernetes.io/zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: d.Spec.Selector, MatchLabelKeys: []string{"pod-template-hash"},
	}
	installtest.Same(t, "the constraints", []corev1.TopologySpreadConstraint{constraint}, d.Spec.Template.Spec.TopologySpreadConstraints)
	installtest.Same(t, "the class that does not exist", "", d.Spec.Template.Spec.PriorityClassName)
	m.emits("Warning ConfigRefused")
	installtest.Contains(t, conditionIn(e.rollout("operator.v1").Conditions, "ConfigRefused").Message, "PriorityClass "+class+" does not exist")

	kube.CreateTemporary(e, e.kube.SchedulingV1().PriorityClasses(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Value: 1000})
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations["example.com/team"] = "blue" })
	comesToBear(e, "blue")
	installtest.Same(t, "the class that exists", class, e.deployment("server").Spec.Template.Spec.PriorityClassName)
	m.settles("operator.v1")
	m.stop()
	next := manageThrough(e, granted)
	next.looksAgain("operator.v1")
	next.writesNothing(next.started)

	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) {
		c.Annotations = map[string]string{"example.com/team": "red"}
	})
	comesToBear(e, "red")
	pod := e.deployment("server").Spec.Template.Spec
	installtest.Same(t, "the constraints without the annotations", 0, len(pod.TopologySpreadConstraints))
	installtest.Same(t, "the class without the annotations", "", pod.PriorityClassName)
	noneIsForbidden(e, m.audited(m.started))
	noneIsForbidden(e, next.audited(next.started))
}
