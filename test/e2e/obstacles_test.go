package e2e

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A webhook that does not serve is never registered, and both the ClusterServiceVersion
// and the WebhookRollout report what is in the way and what to do about it.
func TestNeverRegistered(t *testing.T) {
	t.Parallel()
	absent := corev1.LocalObjectReference{Name: "absent"}
	tests := map[string]struct {
		csv    func(*operatorsv1alpha1.ClusterServiceVersion)
		pod    func(*corev1.PodSpec)
		phase  operatorsv1alpha1.ClusterServiceVersionPhase // Installing, where it is empty
		reason operatorsv1alpha1.ConditionReason            // InstallWaiting, where it is empty
		state  managerv1alpha1.WebhookState                 // Waiting, where it is empty
		why    string                                       // DeploymentNotAvailable, where it is empty
		says   []string
		// predicted is the finding by which bundle validate knows before.
		predicted string
		event     string // what a kubelet reports of a pod, where its status reports nothing
	}{
		"another client's certificate": {
			pod: func(pod *corev1.PodSpec) { pod.Containers[0].Args = []string{"serve", "--foreign"} },
			why: "ForeignCertificate", says: []string{"presents a certificate that is not signed by the expected CA", "serve the certificate mounted into its container"},
		},
		"an image that does not exist": {
			pod:  func(pod *corev1.PodSpec) { pod.Containers[0].Image = "registry.invalid/hook:none" },
			says: []string{"container hook has no image", "correct its name in the ClusterServiceVersion", "registry.invalid/hook:none"},
		},
		"a readiness probe that never succeeds": {
			pod:  func(pod *corev1.PodSpec) { pod.Containers[0].ReadinessProbe.HTTPGet.Path = "/nowhere" },
			says: []string{"container hook runs and its readiness probe fails", "kubectl -n", "describe pod"},
		},
		"a container that crashes": {
			pod:  func(pod *corev1.PodSpec) { pod.Containers[0].Args = []string{"no such command"} },
			says: []string{"container hook ends with exit code 1", "kubectl -n", "--previous"},
		},
		"a ServiceAccount that does not exist": {
			pod:       func(pod *corev1.PodSpec) { pod.ServiceAccountName = "absent" },
			says:      []string{"its pods cannot be created", "serviceaccount \"absent\" not found"},
			predicted: "missing-service-account",
		},
		"a Secret that does not exist": {
			pod: func(pod *corev1.PodSpec) {
				mount(pod, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: absent.Name}})
			},
			says:      []string{"container hook is being created", "kubectl -n", "describe pod"},
			predicted: "missing-secret",
			event:     `secret "absent" not found`,
		},
		"a ConfigMap that does not exist": {
			pod: func(pod *corev1.PodSpec) {
				mount(pod, corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: absent}})
			},
			says:      []string{"container hook is being created", "kubectl -n", "describe pod"},
			predicted: "missing-secret",
			event:     `configmap "absent" not found`,
		},
		"a Secret among others that does not exist": {
			pod: func(pod *corev1.PodSpec) {
				mount(pod, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
					{Secret: &corev1.SecretProjection{LocalObjectReference: absent}},
				}}})
			},
			says:      []string{"container hook is being created", "kubectl -n", "describe pod"},
			predicted: "missing-secret",
			event:     `secret "absent" not found`,
		},
		"a variable of a Secret that does not exist": {
			pod: func(pod *corev1.PodSpec) {
				pod.Containers[0].Env = append(pod.Containers[0].Env, corev1.EnvVar{Name: "A", ValueFrom: &corev1.EnvVarSource{
					SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: absent, Key: "a"},
				}})
			},
			says:      []string{`container hook waits: secret "absent" not found`},
			predicted: "missing-secret",
		},
		"variables of a ConfigMap that does not exist": {
			pod: func(pod *corev1.PodSpec) {
				pod.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: absent}}}
			},
			says:      []string{`container hook waits: configmap "absent" not found`},
			predicted: "missing-secret",
		},
		"a Deployment without replicas": {
			csv: func(csv *operatorsv1alpha1.ClusterServiceVersion) {
				csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Replicas = new(int32(0))
			},
			why: "NoReadyEndpoints", says: []string{"deployment hook is scaled to 0", "kubectl -n", "--replicas=1"},
			predicted: "no-replicas",
		},
		"a deploymentName that no Deployment has": {
			csv: func(csv *operatorsv1alpha1.ClusterServiceVersion) {
				csv.Spec.WebhookDefinitions[0].DeploymentName = "other"
			},
			phase: operatorsv1alpha1.CSVPhasePending, reason: operatorsv1alpha1.CSVReasonRequirementsNotMet,
			state: managerv1alpha1.WebhookBlocked, why: "NotInstallable",
			says:      []string{"Deployment other", "set spec.webhookdefinitions[0].deploymentName to one of hook"},
			predicted: "unknown-deployment",
		},
		"a targetPort that no container names": {
			csv: func(csv *operatorsv1alpha1.ClusterServiceVersion) {
				csv.Spec.WebhookDefinitions[0].TargetPort = &intstr.IntOrString{Type: intstr.String, StrVal: "absent"}
			},
			why: "NoSuchPort", says: []string{"no container names a port \"absent\"", "correct targetPort in spec.webhookdefinitions"},
			predicted: "unnamed-port",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			registrations := watchRegistrations(e)
			csv := hookCSV("hook.v1", server("hook"))
			if test.csv != nil {
				test.csv(csv)
			} else {
				test.pod(&csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec)
			}
			if test.predicted != "" {
				predicts(e, csv, test.predicted)
			}
			e.create(csv)
			says(e, "its WebhookRollout", test.says, func() string {
				return e.webhookIs(csv.Name, cmp.Or(test.state, managerv1alpha1.WebhookWaiting), cmp.Or(test.why, "DeploymentNotAvailable")).Message
			})
			says(e, "the condition Ready of its WebhookRollout", test.says, func() string {
				return notReady(e, csv.Name)
			})
			says(e, "the ClusterServiceVersion", test.says, func() string {
				return reaches(e, csv.Name, cmp.Or(test.phase, operatorsv1alpha1.CSVPhaseInstalling), cmp.Or(test.reason, operatorsv1alpha1.CSVReasonWaiting))
			})
			if test.event != "" {
				kubeletSays(e, test.event)
			}
			registrations.none()
		})
	}
}

func mount(pod *corev1.PodSpec, source corev1.VolumeSource) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "tls", VolumeSource: source})
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "tls", MountPath: "/tls"})
}

// predicts checks that bundle validate finds in a bundle with the ClusterServiceVersion what it does not
// find in a whole one.
func predicts(e *env, csv *operatorsv1alpha1.ClusterServiceVersion, code string) {
	e.Helper()
	for folder, want := range map[string]bool{bundleOf(e, "hook", csv): true, e.hookBundle("hook", unspoilt): false} {
		b, err := bundle.Inspect(folder)
		e.must(err)
		findings := lint.Run(b).Findings
		if found := slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Code == code }); found != want {
			e.Errorf("%s is found: %t, want %t: %v", code, found, want, findings)
		}
	}
}

func kubeletSays(e *env, part string) {
	e.Helper()
	e.eventually("a kubelet reports "+part, func() (bool, any) {
		events := kube.List(e, kubeClient.CoreV1().Events(e.namespace), metav1.ListOptions{FieldSelector: "involvedObject.kind=Pod"})
		return slices.ContainsFunc(events.Items, func(event corev1.Event) bool { return strings.Contains(event.Message, part) }), events.Items
	})
}

// says waits until a message has all parts: a cause may take a moment to show.
func says(e *env, who string, parts []string, message func() string) {
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
	e.Logf("%s reports: %s", who, last)
}

func notReady(e *env, csv string) string {
	e.Helper()
	rollout := kube.Get(e, olmClient.WebhookRollouts(e.namespace), csv)
	ready := meta.FindStatusCondition(rollout.Status.Conditions, managerv1alpha1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return ""
	}
	return ready.Message
}
