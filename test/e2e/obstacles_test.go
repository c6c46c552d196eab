package e2e

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// A webhook that does not serve is never registered, and both the ClusterServiceVersion
// and the WebhookRollout say what is in the way and what to do about it.
func TestNeverRegistered(t *testing.T) {
	t.Parallel()
	const installing, waiting = operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting
	tests := map[string]struct {
		spoil  func(*operatorsv1alpha1.ClusterServiceVersion, *corev1.PodSpec)
		phase  operatorsv1alpha1.ClusterServiceVersionPhase
		reason operatorsv1alpha1.ConditionReason
		state  managerv1alpha1.WebhookState
		why    string
		says   []string
	}{
		"a foreign certificate": {
			spoil: func(_ *operatorsv1alpha1.ClusterServiceVersion, pod *corev1.PodSpec) {
				pod.Containers[0].Args = []string{"serve", "--foreign"}
			},
			phase: installing, reason: waiting, state: managerv1alpha1.WebhookWaiting, why: "ForeignCertificate",
			says: []string{"presents a certificate for [\"foreign\"]", "not signed by the expected CA", "serve the certificate mounted into its container"},
		},
		"an image that does not exist": {
			spoil: func(_ *operatorsv1alpha1.ClusterServiceVersion, pod *corev1.PodSpec) {
				pod.Containers[0].Image = "registry.invalid/hook:none"
			},
			phase: installing, reason: waiting, state: managerv1alpha1.WebhookWaiting, why: "DeploymentNotAvailable",
			says: []string{"container hook has no image", "correct its name in the ClusterServiceVersion", "registry.invalid/hook:none"},
		},
		"a readiness probe that never succeeds": {
			spoil: func(_ *operatorsv1alpha1.ClusterServiceVersion, pod *corev1.PodSpec) {
				pod.Containers[0].ReadinessProbe.HTTPGet.Path = "/nowhere"
			},
			phase: installing, reason: waiting, state: managerv1alpha1.WebhookWaiting, why: "DeploymentNotAvailable",
			says: []string{"container hook runs and its readiness probe fails", "kubectl -n", "describe pod"},
		},
		"a container that crashes": {
			spoil: func(_ *operatorsv1alpha1.ClusterServiceVersion, pod *corev1.PodSpec) {
				pod.Containers[0].Args = []string{"no such command"}
			},
			phase: installing, reason: waiting, state: managerv1alpha1.WebhookWaiting, why: "DeploymentNotAvailable",
			says: []string{"container hook ends with exit code 1", "kubectl -n", "--previous"},
		},
		"a ServiceAccount that does not exist": {
			spoil: func(_ *operatorsv1alpha1.ClusterServiceVersion, pod *corev1.PodSpec) {
				pod.ServiceAccountName = "absent"
			},
			phase: installing, reason: waiting, state: managerv1alpha1.WebhookWaiting, why: "DeploymentNotAvailable",
			says: []string{"its pods cannot be created", "serviceaccount \"absent\" not found"},
		},
		"a Secret that does not exist": {
			spoil: func(_ *operatorsv1alpha1.ClusterServiceVersion, pod *corev1.PodSpec) {
				pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "tls", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "absent"}}})
				pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "tls", MountPath: "/tls"})
			},
			phase: installing, reason: waiting, state: managerv1alpha1.WebhookWaiting, why: "DeploymentNotAvailable",
			says: []string{"container hook is being created", "kubectl -n", "describe pod"},
		},
		"a Deployment without replicas": {
			spoil: func(csv *operatorsv1alpha1.ClusterServiceVersion, _ *corev1.PodSpec) {
				csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Replicas = new(int32(0))
			},
			phase: installing, reason: waiting, state: managerv1alpha1.WebhookWaiting, why: "NoReadyEndpoints",
			says: []string{"deployment hook is scaled to 0", "kubectl -n", "--replicas=1"},
		},
		"a deploymentName that no Deployment has": {
			spoil: func(csv *operatorsv1alpha1.ClusterServiceVersion, _ *corev1.PodSpec) {
				csv.Spec.WebhookDefinitions[0].DeploymentName = "other"
			},
			phase: operatorsv1alpha1.CSVPhasePending, reason: operatorsv1alpha1.CSVReasonRequirementsNotMet,
			state: managerv1alpha1.WebhookBlocked, why: "NotInstallable",
			says: []string{"Deployment other", "set spec.webhookdefinitions[0].deploymentName to one of hook"},
		},
		"a targetPort that no container names": {
			spoil: func(csv *operatorsv1alpha1.ClusterServiceVersion, _ *corev1.PodSpec) {
				csv.Spec.WebhookDefinitions[0].TargetPort = &intstr.IntOrString{Type: intstr.String, StrVal: "absent"}
			},
			phase: installing, reason: waiting, state: managerv1alpha1.WebhookWaiting, why: "NoSuchPort",
			says: []string{"no container names a port \"absent\"", "correct targetPort in spec.webhookdefinitions"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			registrations := e.watchRegistrations()
			csv := hookCSV("hook.v1", server("hook"))
			test.spoil(csv, &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec)
			e.create(csv)
			e.says("its WebhookRollout", test.says, func() string {
				return e.webhookIs(csv.Name, test.state, test.why).Message
			})
			e.says("the condition Ready of its WebhookRollout", test.says, func() string {
				return e.notReady(csv.Name)
			})
			e.says("the ClusterServiceVersion", test.says, func() string {
				return e.reaches(csv.Name, test.phase, test.reason)
			})
			registrations.none()
		})
	}
}

// says waits until a message has all parts: a cause may take a moment to show.
func (e *env) says(who string, parts []string, message func() string) {
	e.Helper()
	last := ""
	e.eventually(who+" names the cause", func() (bool, any) {
		last = message()
		for _, part := range parts {
			if !strings.Contains(last, part) {
				return false, last
			}
		}
		return true, last
	})
	e.Logf("%s says: %s", who, last)
}

// notReady is the message of a WebhookRollout's condition Ready; empty when it is true.
func (e *env) notReady(csv string) string {
	e.Helper()
	rollout, err := olmClient.ManagerV1alpha1().WebhookRollouts(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
	e.must(err)
	ready := meta.FindStatusCondition(rollout.Status.Conditions, managerv1alpha1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return ""
	}
	return ready.Message
}
