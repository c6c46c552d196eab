package e2e

import (
	"cmp"
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// An installation that does not continue ends with exit code 1, and names the cause and the way out.
func TestBundleDiagnosis(t *testing.T) {
	for name, test := range map[string]struct {
		spoil   func(*operatorsv1alpha1.ClusterServiceVersion, *corev1.PodSpec)
		prepare func(*env)
		as      string
		says    []string
		// patience is six seconds where not set: a report of the manager counts for four.
		patience string
	}{
		"a quota": {
			spoil:   unspoilt,
			prepare: func(e *env) { quota(e, "pods", "1") },
			says:    []string{"does not progress", "exceeded quota: pods"},
		},
		"a Secret that no client creates": {
			spoil: func(_ *operatorsv1alpha1.ClusterServiceVersion, pod *corev1.PodSpec) {
				pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "key", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "absent"}}})
				pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "key", MountPath: "/key"})
			},
			says: []string{"does not progress", "container hook is being created", "FailedMount", `secret "absent" not found`},
		},
		"a port that no container names": {
			spoil: func(csv *operatorsv1alpha1.ClusterServiceVersion, _ *corev1.PodSpec) {
				csv.Spec.WebhookDefinitions[0].TargetPort = new(intstr.FromString("missing"))
			},
			says:     []string{"does not progress", `no container names a port "missing"`, "correct targetPort"},
			patience: "10m", // it is certain, and ends the wait at once
		},
		"a certificate that no client gave it": {
			spoil: func(_ *operatorsv1alpha1.ClusterServiceVersion, pod *corev1.PodSpec) {
				pod.Containers[0].Args = append(pod.Containers[0].Args, "--foreign")
			},
			says:     []string{"does not progress", "webhook configmaps.hook.example.com is Waiting", "that is not signed by the expected CA"},
			patience: "15s", // the pod has to be ready first
		},
		"an administrator who may not grant what the operator asks for": {
			spoil: func(csv *operatorsv1alpha1.ClusterServiceVersion, pod *corev1.PodSpec) {
				pod.ServiceAccountName = "hook"
				csv.Spec.InstallStrategy.StrategySpec.Permissions = []operatorsv1alpha1.StrategyDeploymentPermissions{{
					ServiceAccountName: "hook", Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}}},
				}}
			},
			prepare: allowInstalling,
			as:      "shop-admin",
			says:    []string{`"shop-admin"`, "attempting to grant RBAC permissions not currently held", `Resources:["secrets"]`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := &terminal{env: newBareEnv(t)}
			if test.prepare != nil {
				test.prepare(term.env)
			}
			arguments := []string{"bundle", "install", term.hookBundle("hook", test.spoil), "-n", term.namespace, "--yes", "--patience=" + cmp.Or(test.patience, "6s")}
			if test.as != "" {
				arguments = append(arguments, "--as="+test.as)
			}
			term.fails(1, test.says, arguments...)
		})
	}
}

func quota(e *env, of corev1.ResourceName, limit string) {
	e.Helper()
	kube.Create(e, kubeClient.CoreV1().ResourceQuotas(e.namespace), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: string(of)}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{of: resource.MustParse(limit)}},
	})
	e.eventually("the quota is known", func() (bool, any) {
		q := kube.Get(e, kubeClient.CoreV1().ResourceQuotas(e.namespace), string(of))
		return len(q.Status.Hard) > 0, q.Status
	})
}

// allowInstalling lets the user shop-admin write all that an installation consists of, but
// grant only what shop-admin has.
func allowInstalling(e *env) {
	e.Helper()
	rbac, meta, after := kubeClient.RbacV1(), metav1.ObjectMeta{Name: e.namespace}, context.WithoutCancel(e.ctx)
	kube.Create(e, rbac.ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"operators.coreos.com"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"namespaces", "serviceaccounts", "configmaps"}, Verbs: []string{"*"}},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Resources: []string{"roles", "rolebindings"}, Verbs: []string{"get", "create", "patch"}},
	}})
	e.Cleanup(func() { e.must(rbac.ClusterRoles().Delete(after, e.namespace, metav1.DeleteOptions{})) })
	kube.Create(e, rbac.ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: e.namespace},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "shop-admin"}},
	})
	e.Cleanup(func() { e.must(rbac.ClusterRoleBindings().Delete(after, e.namespace, metav1.DeleteOptions{})) })
	e.eventually("shop-admin may install", func() (bool, any) {
		answer, err := kubectl(e.ctx, "auth", "can-i", "list", "operatorgroups.operators.coreos.com", "-n", e.namespace, "--as=shop-admin")
		return err == nil, fmt.Sprint(answer, err)
	})
}

// Ctrl-C ends the output and takes nothing back: the same command continues from there.
func TestBundleInstallInterrupted(t *testing.T) {
	t.Parallel()
	term := &terminal{env: newBareEnv(t)}
	install := []string{"bundle", "install", term.hookBundle("hook", unspoilt), "-n", term.namespace, "--yes"}
	for _, at := range []string{"kept Namespace", "applied ClusterServiceVersion"} {
		command := term.start(install...)
		command.says(at)
		said, exit := command.interrupt()
		if exit != 130 {
			t.Errorf("interrupted at %q, the exit code is %d, want 130\n%s", at, exit, said)
		}
	}
	term.works("", install...)
	term.denies()
}
