package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
)

// A webhook goes live without one failed call, and is live when the ClusterServiceVersion reports it.
func TestInstallUnderLoad(t *testing.T) {
	t.Parallel()
	mutating := hookCSV("hook.v1", server("hook"))
	mutating.Spec.WebhookDefinitions[0].Type = operatorsv1alpha1.MutatingAdmissionWebhook
	tests := map[string]*operatorsv1alpha1.ClusterServiceVersion{
		"validating":                           hookCSV("hook.v1", server("hook")),
		"mutating":                             mutating,
		"behind an operator that waits for it": hookCSV("hook.v1", server("hook"), waitingOperator("operator")),
	}
	for name, csv := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			allowConfigMaps(e)
			load := e.startLoad()
			e.create(csv)
			live := e.succeeds(csv.Name)
			load.GoesOn(calls.Denied)
			load.End(calls.UncoveredBefore(live))
		})
	}
}

// Many bundles still mount the Secret of the certificate tool that their author used,
// which does not exist here. Their pods start all the same, and serve.
func TestAuthorsCertificateVolume(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	csv := hookCSV("hook.v1", server("hook"))
	pod := &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec
	pod.Volumes = []corev1.Volume{{Name: "cert", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: "another-tools-certificate"},
	}}}
	pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "cert", MountPath: "/tmp/k8s-webhook-server/serving-certs/", ReadOnly: true}}
	e.create(csv)
	e.succeeds(csv.Name)
	e.denies()
}

// denies waits until the webhook denies what it should, and only that: an API server or a node may learn of it late.
// TestInstallUnderLoad and TestUpgradeUnderLoad allow no delay.
func (e *env) denies() {
	e.Helper()
	callsAre(e, calls.Denied)
	e.eventually("the webhook allows the rest", func() (bool, any) {
		c := e.call(e.ctx, false)
		return c.Outcome == calls.Uncovered, c.Err
	})
}
