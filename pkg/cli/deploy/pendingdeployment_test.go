package deploy

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// An operator without webhooks is installed when its Deployments are as they were applied
// last, and not when the phase is still that of the previous object.
func TestLagOf(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1", Annotations: map[string]string{
		"olm.operatorGroup": "og", "olm.operatorNamespace": "shop", "olm.targetNamespaces": "a,b",
	}}}
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []operatorsv1alpha1.StrategyDeploymentSpec{{Name: "manager", Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To(int32(2)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager"}}}},
	}}}
	csv.Status.Phase = operatorsv1alpha1.CSVPhaseSucceeded
	before, now := &operatorsv1alpha1.Subscription{}, &operatorsv1alpha1.Subscription{Spec: &operatorsv1alpha1.SubscriptionSpec{
		Config: &operatorsv1alpha1.SubscriptionConfig{Env: []corev1.EnvVar{{Name: "A", Value: "b"}}},
	}}
	proxy := subscriptions.Proxy{}
	written := func(under *operatorsv1alpha1.Subscription, updated, all, available int32) *appsv1.Deployment {
		d := render.Objects(render.Input{CSV: csv, Scope: scopeOf(csv), Config: subscriptions.ConfigOf(under).WithProxy(proxy)}).Deployments[0].Object
		d.Generation, d.Status = 3, appsv1.DeploymentStatus{ObservedGeneration: 3, UpdatedReplicas: updated, Replicas: all, AvailableReplicas: available}
		return d
	}
	unobserved := written(now, 2, 2, 2)
	unobserved.Status.ObservedGeneration = 2
	proxy = subscriptions.Proxy{HTTPS: "https://p:3129"}
	proxied, proxiedBefore := written(now, 2, 2, 2), written(before, 2, 2, 2)
	proxy = subscriptions.Proxy{}
	for name, test := range map[string]struct {
		live    *appsv1.Deployment
		message string // part of it; empty when there is nothing to wait for
		unseen  bool
	}{
		"as it was applied":                {written(now, 2, 2, 2), "", false},
		"gone":                             {nil, "no manager has written it", true},
		"with the config before":           {written(before, 2, 2, 2), "no manager has written it", true},
		"with the proxy of the cluster":    {proxied, "", false},
		"with it, and the config before":   {proxiedBefore, "no manager has written it", true},
		"not observed by its controller":   {unobserved, "has not observed it yet", false},
		"with an old pod for each new one": {written(now, 2, 3, 3), "1 old pods are pending termination", false},
		"with one new pod":                 {written(now, 1, 3, 2), "1 of 2 pods are new", false},
		"with a pod that is not ready":     {written(now, 2, 2, 1), "1 of 2 pods are available", false},
	} {
		t.Run(name, func(t *testing.T) {
			live := map[string]*appsv1.Deployment{"manager": test.live}
			if test.live == nil {
				live = nil
			}
			lag := FirstPendingDeployment(csv, now, live)
			if (lag != nil) != (test.message != "") || lag != nil && (lag.Unobserved != test.unseen || !strings.Contains(lag.Message, test.message)) {
				t.Errorf("got %+v, want %q", lag, test.message)
			}
			p := ProgressOf(Observation{CSV: csv, Pending: lag})
			if p.Done != (test.message == "") || (p.Problem != "") != test.unseen || p.Unobserved != test.unseen || !strings.Contains(strings.Join(p.Lines, "\n"), test.message) {
				t.Errorf("got %+v", p)
			}
			warned := ProgressOf(Observation{CSV: csv, Pending: lag, Warnings: map[string]string{"manager": "no image"}})
			if lag != nil && !lag.Unobserved && !strings.Contains(warned.Problem, "no image") {
				t.Errorf("what events warn of is no trouble: %+v", warned)
			}
		})
	}
}
