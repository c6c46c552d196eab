package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

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
	callsAre(e, denied)
	e.eventually("the webhook allows the rest", func() (bool, any) {
		c := e.call(e.ctx, false)
		return c.outcome == uncovered, c.err
	})
}
