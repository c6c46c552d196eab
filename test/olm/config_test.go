package olm

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// The config of a Subscription reaches the pods with the first rollout of an installation and of an upgrade.
func TestConfigOfASubscription(t *testing.T) {
	const deployment = "volumelabels"
	e, o := newExample(t, "volumelabels")
	v1 := e.example(o.bundle).Release("0.1.0")
	v2 := v1.Release("0.2.0")
	e.serve(catalog.Package{
		Name: v1.Package, DefaultChannel: "new", Bundles: []catalog.Bundle{v1, v2},
		Channels: []catalog.Channel{catalog.Chain("old", v1), catalog.Chain("new", v1, v2)},
	})
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{
		Package: v1.Package, Channel: "old", Config: &operatorsv1alpha1.SubscriptionConfig{Env: []corev1.EnvVar{{Name: "TEAM", Value: "shop"}}},
	})
	e.installs(v1.Package, v1.Name())
	load := o.load(e)
	installtest.Same(t, "values of TEAM after the installation", []string{"shop"}, e.valuesOf(deployment, "TEAM"))

	e.changes(v1.Package, map[string]any{"channel": "new"})
	e.installs(v1.Package, v2.Name())
	e.isGone(v1.Name())
	load.GoesOn(o.answer)
	load.End(calls.Never)
	installtest.Same(t, "values of TEAM after the upgrade", []string{"shop", "shop"}, e.valuesOf(deployment, "TEAM"))
}

// valuesOf returns the values of a variable in the ReplicaSets of a Deployment. Each rollout creates one.
func (e *env) valuesOf(deployment, variable string) (values []string) {
	e.Helper()
	d := kube.Get(e, kubeClient.AppsV1().Deployments(e.namespace), deployment)
	selector := metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)}
	for _, set := range kube.List(e, kubeClient.AppsV1().ReplicaSets(e.namespace), selector).Items {
		value := "none"
		for _, v := range set.Spec.Template.Spec.Containers[0].Env {
			if v.Name == variable {
				value = v.Value
			}
		}
		values = append(values, value)
	}
	return values
}
