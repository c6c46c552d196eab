package conformance

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func admitAny(context.Context, hosting.Request[*unstructured.Unstructured]) error { return nil }

func TestRegistrationByService(t *testing.T) {
	namespace, client := newNamespace(t, "register")
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("plain", hosting.Webhook{
		Kinds: []schema.GroupVersionKind{
			corev1.SchemeGroupVersion.WithKind("PersistentVolume"),
			appsv1.SchemeGroupVersion.WithKind("Deployment"),
		},
		Handler: hosting.Mutating(admitAny),
	})
	h := start(t, b, "--register-webhooks", "--webhook-url=", "--webhook-service="+namespace+"/hooks:8443")
	got := mutatingOf(t, client, namespace+"-plain")

	want := admissionregistrationv1.MutatingWebhook{
		Name: "plain." + namespace + ".hosting",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service:  &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: "hooks", Path: ptr.To("/plain"), Port: ptr.To[int32](8443)},
			CABundle: h.authority(t),
		},
		Rules: []admissionregistrationv1.RuleWithOperations{
			ruleFor("", "persistentvolumes", admissionregistrationv1.ClusterScope),
			ruleFor("apps", "deployments", admissionregistrationv1.NamespacedScope),
		},
		FailurePolicy:           ptr.To(admissionregistrationv1.Ignore),
		MatchPolicy:             ptr.To(admissionregistrationv1.Equivalent),
		NamespaceSelector:       &metav1.LabelSelector{},
		ObjectSelector:          &metav1.LabelSelector{},
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          ptr.To[int32](10),
		AdmissionReviewVersions: []string{"v1"},
		ReinvocationPolicy:      ptr.To(admissionregistrationv1.NeverReinvocationPolicy),
	}
	hostingtest.Same(t, "registered", []admissionregistrationv1.MutatingWebhook{want}, got.Webhooks)
}

func ruleFor(group, resource string, scope admissionregistrationv1.ScopeType) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}, Scope: &scope},
	}
}

func TestRegistrationAsTheAuthorHasIt(t *testing.T) {
	namespace, client := newNamespace(t, "register")
	// An existing configuration keeps everything except the webhook.
	existing := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-strict", Labels: map[string]string{"by": "hand"}},
	}
	kube.Create(t, client.AdmissionregistrationV1().ValidatingWebhookConfigurations(), existing)
	scale := ruleFor("apps", "deployments/scale", admissionregistrationv1.NamespacedScope)
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("strict", hosting.Webhook{
		Kinds:      []schema.GroupVersionKind{{Group: "autoscaling", Version: "v1", Kind: "Scale"}},
		Operations: []admissionv1.Operation{admissionv1.Update},
		Handler:    hosting.Validating(admitAny),
		Path:       "/somewhere/else",
		V1beta1:    true,
		Registration: hosting.Registration{
			Rules:           []admissionregistrationv1.RuleWithOperations{scale},
			FailurePolicy:   admissionregistrationv1.Fail,
			SideEffects:     admissionregistrationv1.SideEffectClassNoneOnDryRun,
			TimeoutSeconds:  3,
			ObjectSelector:  &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "always", Expression: "true"}},
		},
	})
	h := start(t, b, "--register-webhooks", "--webhook-url=", "--webhook-service="+namespace+"/hooks")
	var got *admissionregistrationv1.ValidatingWebhookConfiguration
	hostingtest.Eventually(t, "the webhook is registered", func() bool {
		var err error
		got, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), existing.Name, metav1.GetOptions{})
		return err == nil && len(got.Webhooks) == 1
	})
	want := admissionregistrationv1.ValidatingWebhook{
		Name: "strict." + namespace + ".hosting",
		ClientConfig: admissionregistrationv1.WebhookClientConfig{
			Service:  &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: "hooks", Path: ptr.To("/somewhere/else"), Port: ptr.To[int32](443)},
			CABundle: h.authority(t),
		},
		Rules:         []admissionregistrationv1.RuleWithOperations{scale},
		FailurePolicy: ptr.To(admissionregistrationv1.Fail),
		MatchPolicy:   ptr.To(admissionregistrationv1.Equivalent),
		// The policy is Fail, so the webhook must not block the pods that serve it.
		NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{namespace},
		}}},
		ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
		SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNoneOnDryRun),
		TimeoutSeconds:          ptr.To[int32](3),
		MatchConditions:         []admissionregistrationv1.MatchCondition{{Name: "always", Expression: "true"}},
		AdmissionReviewVersions: []string{"v1", "v1beta1"},
	}
	hostingtest.Same(t, "registered", []admissionregistrationv1.ValidatingWebhook{want}, got.Webhooks)
	hostingtest.Same(t, "the label by", "hand", got.Labels["by"])
}

func TestRegistrationWaitsForTheKind(t *testing.T) {
	namespace, client := newNamespace(t, "register")
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("doors", hosting.Webhook{
		Kinds:   []schema.GroupVersionKind{{Group: "house.example.com", Version: "v1", Kind: "Door"}},
		Handler: hosting.Mutating(admitAny),
	})
	start(t, b, "--register-webhooks")
	name := namespace + "-doors"
	if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("registered for what there is not: %v", err)
	}
	hostingtest.Must(t, cluster.InstallCRDs(t.Context(), "testdata/doors.yaml"))
	hostingtest.Same(t, "the registered resources", []string{"doors"}, mutatingOf(t, client, name).Webhooks[0].Rules[0].Resources)
}

func mutatingOf(t *testing.T, client kubernetes.Interface, name string) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	var got *admissionregistrationv1.MutatingWebhookConfiguration
	hostingtest.Eventually(t, name+" is registered", func() bool {
		var err error
		got, err = client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), name, metav1.GetOptions{})
		return err == nil
	})
	return got
}

func (h *host) authority(t *testing.T) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(h.certs, "ca.crt"))
	hostingtest.Must(t, err)
	return data
}
