package deploy

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A namespace is that of a manager or of OLM v0 by the Deployments in it, or by a Lease that is held.
func TestControllerIn(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	deployment := func(name string, labels, ofPods map[string]string) []appsv1.Deployment {
		d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		d.Spec.Template.Labels = ofPods
		return []appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, d}
	}
	lease := func(name, holder string, renewed time.Time) []coordinationv1.Lease {
		return []coordinationv1.Lease{{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, RenewTime: new(metav1.NewMicroTime(renewed)), LeaseDurationSeconds: new(int32(15)),
		}}}
	}
	manager := map[string]string{"app.kubernetes.io/name": "olm-webhook-manager"}
	for name, c := range map[string]struct {
		deployments []appsv1.Deployment
		leases      []coordinationv1.Lease
		want        string
	}{
		"nothing":                       {},
		"a manager":                     {deployments: deployment("manager", manager, nil), want: "Deployment manager"},
		"a manager by its pods":         {deployments: deployment("manager", nil, manager), want: "Deployment manager"},
		"OLM":                           {deployments: deployment("olm-operator", nil, map[string]string{"app": "olm-operator"}), want: "Deployment olm-operator"},
		"OLM's catalogs":                {deployments: deployment("catalog-operator", nil, map[string]string{"app": "catalog-operator"}), want: "Deployment catalog-operator"},
		"OLM's API server":              {deployments: deployment("packageserver", nil, map[string]string{"app": "packageserver"}), want: "Deployment packageserver"},
		"another one with OLM's name":   {deployments: deployment("catalog-operator", nil, map[string]string{"app": "shop"})},
		"another one with OLM's label":  {deployments: deployment("shop", nil, map[string]string{"app": "olm-operator"})},
		"a Lease that is held":          {leases: lease("olm-webhook-manager", "pod-1", now), want: "the holder of Lease olm-webhook-manager (pod-1)"},
		"a Lease that is not held":      {leases: lease("olm-webhook-manager", "", now)},
		"a Lease that was not renewed":  {leases: lease("olm-webhook-manager", "pod-1", now.Add(-time.Hour))},
		"a Lease of another controller": {leases: lease("shop", "pod-1", now)},
	} {
		installtest.Same(t, name, c.want, ControllerIn(c.deployments, c.leases, now))
	}
}
