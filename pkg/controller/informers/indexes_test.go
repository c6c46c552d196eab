package informers_test

import (
	"maps"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers/informerstest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// The Secrets of current rotations are found without reading all Secrets.
func TestByReplacing(t *testing.T) {
	marked := func(name, annotation string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{annotation: "2026-05-04T12:00:00Z"}}}
	}
	secrets := informerstest.Holding(t, &corev1.Secret{}, marked("begun", wellknown.AnnotationNextStoredAt), marked("promoted", wellknown.AnnotationPromotedAt), marked("stable", "any"))
	installtest.Same(t, "the number of Secrets", 2, len(secrets.By(informers.ByReplacing, "")))
}

// A binding is found by the key of its role, which is in the namespace of the binding or has none.
func TestByRole(t *testing.T) {
	to := func(kind string) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: kind}, RoleRef: rbacv1.RoleRef{Kind: kind, Name: "edit"}}
	}
	bindings := informerstest.Holding(t, &rbacv1.RoleBinding{}, to("Role"), to("ClusterRole"))
	for _, role := range []drift.Object{
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edit"}}, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "edit"}},
	} {
		found := bindings.By(informers.ByRole, drift.KeyOf(role))
		if len(found) != 1 || found[0].Name != drift.KindOf(role) {
			t.Errorf("%s has the bindings %v", drift.KeyOf(role), found)
		}
	}
}

// Each webhook of a registration may select Namespaces by labels, or by none.
func TestSelectedLabels(t *testing.T) {
	by := func(labels ...string) admissionregistrationv1.MutatingWebhook {
		selector := &metav1.LabelSelector{MatchLabels: map[string]string{}}
		for _, label := range labels {
			selector.MatchLabels[label] = ""
		}
		return admissionregistrationv1.MutatingWebhook{NamespaceSelector: selector}
	}
	c := &admissionregistrationv1.MutatingWebhookConfiguration{Webhooks: []admissionregistrationv1.MutatingWebhook{{}, by("a", "b"), by(), by("c")}}
	installtest.Same(t, "labels", []string{"a", "b", "c"}, slices.Sorted(maps.Keys(informers.SelectedLabels(c))))
}
