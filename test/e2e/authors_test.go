package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// A Service of the author's that has the name which the manager would give to its own
// stays as it is, and the webhook gets another.
func TestAuthorsService(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	services := kubeClient.CoreV1().Services(e.namespace)
	authors, err := services.Create(e.ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hook-service", Labels: map[string]string{"app": "hook"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "hook"}, Ports: []corev1.ServicePort{{Name: "metrics", Port: 8080}}},
	}, metav1.CreateOptions{})
	e.must(err)
	csv := hookCSV("hook.v1", server("hook"))
	e.create(csv)
	e.succeeds(csv.Name)
	e.denies()

	now, err := services.Get(e.ctx, authors.Name, metav1.GetOptions{})
	e.must(err)
	if diff := cmp.Diff(authors, now); diff != "" {
		t.Errorf("the author's Service was changed (-was +is):\n%s", diff)
	}
	if used := e.registration().Webhooks[0].ClientConfig.Service.Name; used == authors.Name {
		t.Errorf("the webhook is called through the author's Service %s", used)
	}
}

// denies waits until the webhook denies what it should, and only that: an API server may hear of
// a registration, or a node of pods, later than this test does. TestInstallUnderLoad and
// TestUpgradeUnderLoad allow no delay.
func (e *env) denies() {
	e.Helper()
	callsAre(e, denied)
	e.eventually("the webhook allows the rest", func() (bool, any) {
		c := e.call(e.ctx, false)
		return c.outcome == uncovered, c.err
	})
}
