package bundle

import (
	"context"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// What fail-on-core reports about writes that no client makes by hand: each stops with the webhook.
func TestCoreStandsStill(t *testing.T) {
	e := newEnv(t)
	e.namespace(t, testNamespace)
	for name, c := range map[string]struct {
		group, resource string
		try             func(*testing.T) error
	}{
		"tokens of pods": {"", "serviceaccounts/token", func(t *testing.T) error {
			_, err := e.kube.CoreV1().ServiceAccounts(testNamespace).CreateToken(t.Context(), e.account(t), &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
			return err
		}},
		"pods that a quota counts": {"", "resourcequotas/status", func(t *testing.T) error {
			return e.countedPod(t)
		}},
		"who calls a kubelet": {"authentication.k8s.io", "tokenreviews", func(t *testing.T) error {
			_, err := e.kube.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "a"}}, metav1.CreateOptions{})
			return err
		}},
		"what he may do": {"authorization.k8s.io", "subjectaccessreviews", func(t *testing.T) error {
			_, err := e.kube.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: "a", NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/", Verb: "get"}},
			}, metav1.CreateOptions{})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e.eventually(t, "it works without the webhook", func() bool { return c.try(t) == nil })
			b := edited(t, proof{example: admission, edits: []string{`apiGroups: [""]`, `apiGroups: ["` + c.group + `"]`, "resources: [namespaces]", "resources: [" + c.resource + "]", "scope: Cluster", `scope: "*"`}})
			installtest.Same(t, "fail-on-core is found", true, finds(b, "fail-on-core"))
			d := first(b)
			d.ObjectSelector = nil
			e.registered(t, d, nil)
			e.eventually(t, "without the webhook's answer it fails", func() bool { return called(c.try(t)) })
		})
	}
}

func (e *env) account(t *testing.T) string {
	t.Helper()
	account := &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Name: "core", Namespace: testNamespace}}
	e.createIfAbsent(t, account)
	return account.Name
}

// quota makes the API server count pods, which it does where the quota's status has the counts.
func quota(t *testing.T, e *env) {
	t.Helper()
	quotas, many := e.kube.CoreV1().ResourceQuotas(testNamespace), corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1k")}
	quota, err := quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "core"}, Spec: corev1.ResourceQuotaSpec{Hard: many}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return
	}
	must(t, err)
	quota.Status = corev1.ResourceQuotaStatus{Hard: many, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}
	kube.UpdateStatus(t, quotas, quota)
	t.Cleanup(func() { must(t, quotas.Delete(context.WithoutCancel(t.Context()), quota.Name, metav1.DeleteOptions{})) })
}

// countedPod creates a pod where pods are counted; what a dry run creates is not.
func (e *env) countedPod(t *testing.T) error {
	t.Helper()
	quota(t, e)
	pods := e.kube.CoreV1().Pods(testNamespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "core-"},
		Spec:       corev1.PodSpec{ServiceAccountName: e.account(t), Containers: []corev1.Container{{Name: "a", Image: "example.com/a"}}},
	}, metav1.CreateOptions{})
	if err == nil {
		must(t, pods.Delete(t.Context(), pod.Name, metav1.DeleteOptions{}))
	}
	return err
}
