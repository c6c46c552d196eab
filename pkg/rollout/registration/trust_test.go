package registration

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// The version of the trust of a definition changes with its conversion, and with each write of it by the manager: until
// API servers have learned of that, they may have another one.
func TestTrustOfADefinition(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	definition := func(change func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
		fields := &metav1.FieldsV1{}
		fields.SetRawString(`{"f:spec":{"f:conversion":{"f:strategy":{}},"f:versions":{}}}`)
		crd := &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: "things.example.com", UID: "u", Generation: 7, ManagedFields: []metav1.ManagedFieldsEntry{
				{Manager: "catalog", Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.NewTime(noon.Add(time.Hour))), FieldsV1: fields},
				{Manager: "olm-webhook-manager", Operation: metav1.ManagedFieldsOperationUpdate, Time: new(metav1.NewTime(noon)), FieldsV1: fields},
			}},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte("a CA")}},
			}},
		}
		change(crd)
		return crd
	}
	before := TrustOf(definition(func(*apiextensionsv1.CustomResourceDefinition) {}), nil).Version
	for name, test := range map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		same   bool
	}{
		"another generation": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Generation++ }, true},
		"as caches have it":  {drift.TrimDefinition, true},
		"a write of another field": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.ManagedFields[0].Time = new(metav1.NewTime(noon.Add(2 * time.Hour)))
		}, true},
		"another CA": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Conversion.Webhook.ClientConfig.CABundle = []byte("another CA")
		}, false},
		"a repair": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.ManagedFields[1].Time = new(metav1.NewTime(noon.Add(time.Second)))
		}, false},
		"another definition":      {func(c *apiextensionsv1.CustomResourceDefinition) { c.UID = "v" }, false},
		"another client wrote it": {func(c *apiextensionsv1.CustomResourceDefinition) { c.ManagedFields = c.ManagedFields[:1] }, false},
	} {
		installtest.Same(t, name+": the version is the same", test.same, TrustOf(definition(test.change), nil).Version == before)
	}
	foreign := func(generation int64) string {
		return TrustOf(definition(func(c *apiextensionsv1.CustomResourceDefinition) { c.ManagedFields, c.Generation = nil, generation }), nil).Version
	}
	installtest.Same(t, "the version of a conversion that the manager does not own", "u/8", foreign(8))
}
