package workload

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRestartCosts(t *testing.T) {
	rolling := func(maxUnavailable, maxSurge string) appsv1.DeploymentStrategy {
		return appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxUnavailable: new(intstr.Parse(maxUnavailable)), MaxSurge: new(intstr.Parse(maxSurge)),
		}}
	}
	recreate := appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	for name, test := range map[string]struct {
		replicas *int32
		strategy appsv1.DeploymentStrategy
		want     string // part of it; empty for nothing
	}{
		"default":                         {nil, appsv1.DeploymentStrategy{}, ""},
		"the default, one pod":            {new(int32(1)), rolling("25%", "25%"), ""},
		"the default, two pods":           {new(int32(2)), rolling("25%", "25%"), ""},
		"all may be unavailable":          {new(int32(2)), rolling("100%", "0"), "maxUnavailable of deployment manager"},
		"the only one may be unavailable": {new(int32(1)), rolling("0", "0%"), "maxUnavailable"},
		"Recreate":                        {new(int32(2)), recreate, "the strategy Recreate of deployment manager"},
		"Recreate, and no pods":           {new(int32(0)), recreate, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "manager"}, Spec: appsv1.DeploymentSpec{Replicas: test.replicas, Strategy: test.strategy}}
			installtest.Says(t, "the restart costs", test.want, RestartCosts(d))
		})
	}
	installtest.Same(t, "restart costs of a missing Deployment", "", RestartCosts(nil))
}
