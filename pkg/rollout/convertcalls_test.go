package rollout

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
)

// A definition calls a Service if it names its namespace and its name, and trusts it.
func TestDefinitionNamesItsService(t *testing.T) {
	type config = apiextensionsv1.WebhookClientConfig
	for name, test := range map[string]struct {
		change               func(*config)
		calls, alike, caller bool
	}{
		"the Service":       {func(*config) {}, true, true, true},
		"another caBundle":  {func(c *config) { c.CABundle = []byte("other") }, true, true, true},
		"no caBundle":       {func(c *config) { c.CABundle = nil }, false, true, false},
		"another port":      {func(c *config) { c.Service.Port = new(int32(8443)) }, true, false, true},
		"another name":      {func(c *config) { c.Service.Name = "other" }, false, false, false},
		"another namespace": {func(c *config) { c.Service.Namespace = "shop" }, false, false, false},
	} {
		live := convertedCRD("server-service", nil, "v1")
		desired := render.Conversion{CRD: live.Name, Spec: *live.Spec.Conversion.DeepCopy()}
		test.change(live.Spec.Conversion.Webhook.ClientConfig)
		installtest.Same(t, name+": calls", test.calls, conversion.Calls(live, desired))
		installtest.Same(t, name+": calls alike", test.alike, conversion.CallsAlike(live, desired))
		k := &ports{facts: &facts{Input: Input{Observed: Observed{CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{live.Name: live}}}}}
		d := render.Deployment{Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "operators", Name: "server-service"}}}
		installtest.Same(t, name+": is a caller of the Service", test.caller, len(k.callersOf(d)) == 1)
	}
}

// A conversion that the API server refuses blocks its webhook.
func TestRefusedConversion(t *testing.T) {
	c := candidate{
		registrar: &registrar{facts: &facts{Input: Input{Observed: Observed{Refused: map[string]string{crdKey("things.example.com"): "denied"}}}}},
		webhook:   render.Webhook{Conversions: []render.Conversion{{CRD: "others.example.com"}, {CRD: "things.example.com"}}},
	}
	c.webhook.Description.Type = "ConversionWebhook"
	if reason, message, blocked := c.accepted(); !blocked || reason != managerv1alpha1.ReasonRefusedByAPIServer || message != "denied" {
		t.Errorf("blocked %t: %s, %s", blocked, reason, message)
	}
	c.webhook.Conversions = c.webhook.Conversions[:1]
	if _, message, blocked := c.accepted(); blocked {
		t.Errorf("another definition's refusal blocks it: %s", message)
	}
}
