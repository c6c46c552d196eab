package e2e

import (
	"fmt"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func (e *env) create(csv *operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	kube.Create(e, olmClient.ClusterServiceVersions(e.namespace), csv)
}

func (e *env) get(csv string) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	return kube.Get(e, olmClient.ClusterServiceVersions(e.namespace), csv)
}

func reaches(e *env, csv string, phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason) string {
	e.Helper()
	var status operatorsv1alpha1.ClusterServiceVersionStatus
	e.eventually(fmt.Sprintf("%s is %s/%s", csv, phase, reason), func() (bool, any) {
		status = e.get(csv).Status
		return status.Phase == phase && status.Reason == reason, fmt.Sprintf("%s/%s: %s", status.Phase, status.Reason, csvstatus.Explained(status))
	})
	return csvstatus.Explained(status)
}

func (e *env) succeeds(csv string) time.Time {
	e.Helper()
	reaches(e, csv, operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVReasonInstallSuccessful)
	return time.Now()
}

// uninstall deletes a ClusterServiceVersion, and returns when it no longer exists with what
// garbage collection takes after it.
func (e *env) uninstall(csv string) {
	e.Helper()
	client := olmClient.ClusterServiceVersions(e.namespace)
	e.must(client.Delete(e.ctx, csv, metav1.DeleteOptions{}))
	e.eventually(csv+" and what it owned no longer exists", func() (bool, any) {
		_, err := client.Get(e.ctx, csv, metav1.GetOptions{})
		left := e.derived()
		return apierrors.IsNotFound(err) && len(left) == 0, left
	})
}

// newHookEnv is newEnv with the operator hook.v1, which has succeeded.
func newHookEnv(t *testing.T) *env {
	t.Helper()
	e := newEnv(t)
	e.create(hookCSV("hook.v1", server("hook")))
	e.succeeds("hook.v1")
	return e
}

const hookImage = "docker.io/olm-webhook-manager/hook:dev"

// hookCSV has a webhook that denies ConfigMaps labelled deny=true, failurePolicy
// Fail, behind a Deployment of two replicas, and the Deployments that come before it.
func hookCSV(name string, hook operatorsv1alpha1.StrategyDeploymentSpec, before ...operatorsv1alpha1.StrategyDeploymentSpec) *operatorsv1alpha1.ClusterServiceVersion {
	none, fail, path, target := admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.Fail, "/validate", intstr.FromInt32(9443)
	return &operatorsv1alpha1.ClusterServiceVersion{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: operatorsv1alpha1.ClusterServiceVersionSpec{
			DisplayName:  name,
			InstallModes: []operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeOwnNamespace, Supported: true}},
			InstallStrategy: operatorsv1alpha1.NamedInstallStrategy{
				StrategyName: operatorsv1alpha1.InstallStrategyNameDeployment,
				StrategySpec: operatorsv1alpha1.StrategyDetailsDeployment{DeploymentSpecs: append(before, hook)},
			},
			WebhookDefinitions: []operatorsv1alpha1.WebhookDescription{{
				GenerateName: "configmaps.hook.example.com", Type: operatorsv1alpha1.ValidatingAdmissionWebhook,
				DeploymentName: hook.Name, ContainerPort: 443, TargetPort: &target, WebhookPath: &path,
				SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
				Rules: []admissionregistrationv1.RuleWithOperations{installtest.RuleOf([]string{""}, []string{"configmaps"})},
			}},
		},
	}
}

func hook(name string, replicas int32, args ...string) operatorsv1alpha1.StrategyDeploymentSpec {
	labels := map[string]string{"app": name}
	yes, no := true, false
	return operatorsv1alpha1.StrategyDeploymentSpec{Name: name, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas,
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(1)),
				Containers: []corev1.Container{{
					Name: "hook", Image: hookImage, ImagePullPolicy: corev1.PullIfNotPresent, Args: args,
					Ports: []corev1.ContainerPort{{ContainerPort: 9443}},
					Env: []corev1.EnvVar{{Name: "POD_NAMESPACE", ValueFrom: &corev1.EnvVarSource{
						FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"},
					}}},
					SecurityContext: &corev1.SecurityContext{RunAsNonRoot: &yes, AllowPrivilegeEscalation: &no},
				}},
			},
		},
	}}
}

func server(name string, args ...string) operatorsv1alpha1.StrategyDeploymentSpec {
	spec := hook(name, 2, append([]string{"serve"}, args...)...)
	spec.Spec.Template.Spec.Containers[0].ReadinessProbe = readiness(corev1.URISchemeHTTPS)
	return spec
}

// waitingOperator gets ready only when the webhook denies.
func waitingOperator(name string) operatorsv1alpha1.StrategyDeploymentSpec {
	spec := hook(name, 1, "await")
	spec.Spec.Template.Spec.Containers[0].ReadinessProbe = readiness(corev1.URISchemeHTTP)
	return spec
}

func readiness(scheme corev1.URIScheme) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(9443), Scheme: scheme}},
		PeriodSeconds: 1,
	}
}

// allowConfigMaps lets the pods of the Namespace create ConfigMaps, which is how the
// waiting operator asks whether its webhook denies.
func allowConfigMaps(e *env) {
	e.Helper()
	rbac := kubeClient.RbacV1()
	meta := metav1.ObjectMeta{Name: "configmaps"}
	kube.Create(e, rbac.Roles(e.namespace), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}},
	}})
	kube.Create(e, rbac.RoleBindings(e.namespace), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "configmaps"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: e.namespace}},
	})
}
