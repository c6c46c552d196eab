// Package bench measures what the manager's decisions cost. They are pure, so nothing but
// the processor is measured: no API server, no network.
package bench

import (
	"fmt"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

const (
	namespace  = "shop"
	deployment = "shop-webhook"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func BenchmarkPassInstalls(b *testing.B) {
	eachSize(b, func(b *testing.B, csv *operatorsv1alpha1.ClusterServiceVersion) {
		if plan := pass(csv, rollout.Observed{}); len(plan.Steps) == 0 {
			b.Fatal("nothing is installed")
		}
		for b.Loop() {
			pass(csv, rollout.Observed{})
		}
	})
}

// BenchmarkPassFindsNothing is the decision of nearly every reconciliation: each live
// object is compared with what is desired, and nothing is written.
func BenchmarkPassFindsNothing(b *testing.B) {
	eachSize(b, func(b *testing.B, csv *operatorsv1alpha1.ClusterServiceVersion) {
		settled := live(desiredOf(csv, rollout.Observed{}))
		if plan := pass(csv, settled); len(plan.Steps) > 0 {
			b.Fatalf("a settled ClusterServiceVersion should need no write, and has %s: %s", plan.Steps[0].Key(), plan.Steps[0].Why())
		}
		for b.Loop() {
			pass(csv, settled)
		}
	})
}

func eachSize(b *testing.B, measure func(*testing.B, *operatorsv1alpha1.ClusterServiceVersion)) {
	for _, webhooks := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("webhooks=%d", webhooks), func(b *testing.B) { measure(b, bundle(webhooks)) })
	}
}

// pass is what the controller asks the pure packages in one reconciliation, except for certificates.
func pass(csv *operatorsv1alpha1.ClusterServiceVersion, observed rollout.Observed) rollout.Plan {
	return rollout.Next(rollout.Input{
		CSV: csv, Policy: rollout.DefaultPolicy(), Observed: observed,
		Verdict: requirements.Check(requirements.Facts{CSV: csv}),
		Desired: desiredOf(csv, observed),
	}, noon)
}

func desiredOf(csv *operatorsv1alpha1.ClusterServiceVersion, observed rollout.Observed) render.Desired {
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "all"}}
	all, _ := scope.ForNamespace(namespace, []*operatorsv1.OperatorGroup{group}, nil)
	return render.Objects(render.Input{
		CSV: csv, Scope: all,
		Services:       map[string]string{deployment: names.Service(deployment)},
		Configurations: observed.Configurations(csv),
		Trust:          map[string]render.Trust{deployment: {CABundle: []byte("ca"), CAHash: "hash", Generation: 1}},
	})
}

// live is a cluster that holds what is desired.
func live(desired render.Desired) rollout.Observed {
	d := desired.Deployments[0]
	observed := rollout.Observed{
		Deployments:  map[string]*appsv1.Deployment{d.Object.Name: d.Object},
		Services:     map[string]*corev1.Service{d.Service.Name: d.Service},
		Roles:        map[string]*rbacv1.Role{d.Role.Name: d.Role},
		RoleBindings: map[string]*rbacv1.RoleBinding{d.RoleBinding.Name: d.RoleBinding},
	}
	for _, w := range d.Webhooks {
		observed.Adopt(w.Registration, "")
	}
	return observed
}

func bundle(webhooks int) *operatorsv1alpha1.ClusterServiceVersion {
	labels := map[string]string{"app": deployment}
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop.v1", UID: "shop"}}
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []operatorsv1alpha1.StrategyDeploymentSpec{{
		Name: deployment,
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "webhook", Image: "shop:1"}}},
			},
		},
	}}
	for i := range webhooks {
		csv.Spec.WebhookDefinitions = append(csv.Spec.WebhookDefinitions, webhook(i))
	}
	return csv
}

func webhook(number int) operatorsv1alpha1.WebhookDescription {
	d := installtest.ServedBy(deployment)
	d.GenerateName, d.ContainerPort = fmt.Sprintf("v%d.shop.example.com", number), 443
	d.SideEffects = new(admissionregistrationv1.SideEffectClassNone)
	return d
}
