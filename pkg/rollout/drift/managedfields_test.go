package drift

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Of the fields with which the manager created an object, caches keep the ones that it may have to
// remove: annotations, owners and ports. Entries of other clients, and of applies, are kept.
func TestTrimManagedFields(t *testing.T) {
	const (
		fields = `{"f:metadata":{"f:annotations":{"f:a":{}},"f:labels":{"f:l":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}},` +
			`"f:spec":{"f:ports":{"k:{\"port\":443,\"protocol\":\"TCP\"}":{"f:port":{}}},"f:type":{}}}`
		removable = `{"f:metadata":{"f:annotations":{"f:a":{}},"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}},` +
			`"f:spec":{"f:ports":{"k:{\"port\":443,\"protocol\":\"TCP\"}":{"f:port":{}}}}}`
		annotations = `{"f:metadata":{"f:annotations":{"f:a":{}}}}`
		labels      = `{"f:metadata":{"f:labels":{"f:l":{}}}}`
	)
	as := func(entry metav1.ManagedFieldsEntry, operation metav1.ManagedFieldsOperationType, subresource string) metav1.ManagedFieldsEntry {
		entry.Operation, entry.Subresource = operation, subresource
		return entry
	}
	without := wrote("olm-webhook-manager", labels)
	without.FieldsV1 = nil
	scale := as(wrote("hpa", `{"f:spec":{"f:replicas":{}}}`), metav1.ManagedFieldsOperationUpdate, "scale")
	status := as(wrote("kube-controller-manager", `{"f:status":{}}`), metav1.ManagedFieldsOperationUpdate, "status")
	applied := as(wrote("olm-webhook-manager", fields), metav1.ManagedFieldsOperationApply, "")

	for name, test := range map[string]struct {
		object Object
		entry  metav1.ManagedFieldsEntry
		want   []metav1.ManagedFieldsEntry
	}{
		"a created Service":                 {&corev1.Service{}, wrote("olm-webhook-manager", fields), []metav1.ManagedFieldsEntry{wrote("olm-webhook-manager", removable)}},
		"a created Deployment":              {&appsv1.Deployment{}, wrote("olm-webhook-manager", fields), []metav1.ManagedFieldsEntry{wrote("olm-webhook-manager", annotations)}},
		"nothing to remove":                 {&corev1.Service{}, wrote("olm-webhook-manager", labels), []metav1.ManagedFieldsEntry{without}},
		"applied":                           {&corev1.Service{}, applied, []metav1.ManagedFieldsEntry{applied}},
		"another client's":                  {&corev1.Service{}, wrote("kubectl", fields), []metav1.ManagedFieldsEntry{wrote("kubectl", fields)}},
		"another client's of a subresource": {&appsv1.Deployment{}, scale, []metav1.ManagedFieldsEntry{scale}},
		"a status":                          {&appsv1.Deployment{}, status, []metav1.ManagedFieldsEntry{}},
	} {
		t.Run(name, func(t *testing.T) {
			test.object.SetManagedFields([]metav1.ManagedFieldsEntry{test.entry})
			TrimManagedFields(test.object)
			installtest.Same(t, "managed fields", test.want, test.object.GetManagedFields())
		})
	}
}
