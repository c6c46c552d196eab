package rollout

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func TestSetUpByOther(t *testing.T) {
	wrote := func(manager, fields string) []metav1.ManagedFieldsEntry {
		raw := &metav1.FieldsV1{}
		raw.SetRawBytes([]byte(fields))
		return []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1", FieldsV1: raw}}
	}
	const strategy = `{"f:spec":{"f:conversion":{"f:strategy":{}}}}`
	const annotation = `{"f:metadata":{"f:annotations":{"f:olm-webhook-manager.io/certificate-generation":{}}}}`
	ca := newCA(t, "others")
	for name, test := range map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   bool
	}{
		"another client's":  {func(c *apiextensionsv1.CustomResourceDefinition) { c.ManagedFields = wrote("helm", strategy) }, true},
		"no managed fields": {func(*apiextensionsv1.CustomResourceDefinition) {}, true},
		"the manager's": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.ManagedFields = wrote("olm-webhook-manager", strategy)
		}, false},
		"the manager's by annotation": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.ManagedFields = wrote("olm-webhook-manager", annotation)
		}, false},
		"another field is the manager's": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.ManagedFields = wrote("olm-webhook-manager", `{"f:metadata":{"f:labels":{"f:a":{}}}}`)
		}, true},
		"none": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Conversion = nil }, false},
		"without a caBundle": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Conversion.Webhook.ClientConfig.CABundle = nil
		}, false},
		"with an empty caBundle": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Conversion.Webhook.ClientConfig.CABundle = []byte("\n")
		}, false},
		"a URL": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{URL: new("https://example.com")}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			crd := convertedCRD("theirs", nil, "v1", "v2")
			crd.Spec.Conversion.Webhook.ClientConfig.CABundle = ca
			test.change(crd)
			drift.TrimDefinition(crd) // as caches do
			if got := conversion.SetUpByOther(crd); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}
