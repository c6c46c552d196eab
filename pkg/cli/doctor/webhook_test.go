package doctor

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The time of a conversion is that of the last client that owns fields of spec.conversion, not that of the definition.
func TestWritten(t *testing.T) {
	created := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	entry := func(minutes int, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Time: &metav1.Time{Time: created.Add(time.Duration(minutes) * time.Minute)}, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	crd := apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "orders.shop.io", CreationTimestamp: metav1.Time{Time: created}}}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{}}}
	for name, test := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   time.Time
	}{
		"no managedFields": {nil, time.Time{}},
		"two clients wrote it": {[]metav1.ManagedFieldsEntry{
			entry(2, `{"f:spec":{"f:conversion":{"f:strategy":{}}}}`), entry(1, `{"f:spec":{"f:conversion":{"f:webhook":{}}}}`),
		}, created.Add(2 * time.Minute)},
		"a client that wrote other fields": {[]metav1.ManagedFieldsEntry{
			entry(1, `{"f:spec":{"f:conversion":{}}}`), entry(3, `{"f:spec":{"f:versions":{}},"f:status":{"f:conversion":{}}}`),
		}, created.Add(time.Minute)},
		"fields that cannot be read": {[]metav1.ManagedFieldsEntry{entry(1, `[`), {}}, time.Time{}},
	} {
		crd.ManagedFields = test.fields
		installtest.Same(t, name, test.want, Webhooks(nil, nil, []apiextensionsv1.CustomResourceDefinition{crd})[0].Written)
	}
	configuration := admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Time{Time: created}}, Webhooks: []admissionregistrationv1.MutatingWebhook{{}}}
	installtest.Same(t, "configuration", created, Webhooks(nil, []admissionregistrationv1.MutatingWebhookConfiguration{configuration}, nil)[0].Written)
}
