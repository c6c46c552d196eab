package component

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func reference(apiVersion, kind, namespace, name string) operatorsv1.RichReference {
	group, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		panic(err)
	}
	return Reference(group.WithKind(kind), &metav1.ObjectMeta{Namespace: namespace, Name: name}, nil)
}

// The order of the references does not depend on the order of the caches: otherwise each reconciliation would write.
func TestStatusIsSorted(t *testing.T) {
	sorted := []operatorsv1.RichReference{
		reference("v1", "A", "x", "a"), reference("v1", "A", "x", "b"), reference("v1", "A", "y", "a"),
		reference("v2", "A", "x", "a"), reference("a/v1", "B", "", "a"), reference("v1", "B", "", "a"),
	}
	status := Status("etcd.shop", []operatorsv1.RichReference{sorted[5], sorted[2], sorted[0], sorted[4], sorted[3], sorted[1]})
	installtest.Same(t, "references", sorted, status.Components.Refs)
	installtest.Same(t, "selector", &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "operators.coreos.com/etcd.shop", Operator: metav1.LabelSelectorOpExists},
	}}, status.Components.LabelSelector)
}

func TestConditions(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Local())
	got := Conditions([]appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", Message: "has minimum availability", LastUpdateTime: at},
	})
	installtest.Same(t, "conditions of a Deployment", []operatorsv1.Condition{
		{Type: "Available", Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable", Message: "has minimum availability", LastUpdateTime: &at},
	}, got)
	installtest.None(t, "no conditions", Conditions([]appsv1.DeploymentCondition(nil)))
	installtest.None(t, "another form", Conditions(map[string]any{"type": "A"}))
	installtest.None(t, "nothing", Conditions(nil))
}

func TestPhase(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	installtest.None(t, "before the first phase", Phase(csv))
	csv.Status = operatorsv1alpha1.ClusterServiceVersionStatus{
		Phase: operatorsv1alpha1.CSVPhaseSucceeded, Reason: operatorsv1alpha1.CSVReasonInstallSuccessful, Message: "install strategy completed with no errors",
		LastUpdateTime: &at, LastTransitionTime: &at,
	}
	installtest.Same(t, "the phase", []operatorsv1.Condition{{
		Type: "Succeeded", Status: corev1.ConditionTrue, Reason: "InstallSucceeded", Message: "install strategy completed with no errors",
		LastUpdateTime: &at, LastTransitionTime: &at,
	}}, Phase(csv))
}
