package rollout

import (
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

func registrationNamed(name, generateName string, age time.Duration) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(noon.Add(-age)),
		Labels: map[string]string{"olm.webhook-description-generate-name": generateName},
	}}
}

// A registration is identified by its labels. If two have the labels of one webhook, the same one
// is kept in every reconciliation: caches have no order, and alternating would delete both.
func TestConfigurations(t *testing.T) {
	const webhook = "v.manager.example.com"
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{webhookOf("manager")}
	identity := csvspec.Identity{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: webhook}

	for name, test := range map[string]struct {
		live []*admissionregistrationv1.ValidatingWebhookConfiguration
		want map[csvspec.Identity]string
	}{
		"none":              {nil, map[csvspec.Identity]string{}},
		"named by OLM":      {[]*admissionregistrationv1.ValidatingWebhookConfiguration{registrationNamed(webhook+"-x7k2p", webhook, 0)}, map[csvspec.Identity]string{identity: webhook + "-x7k2p"}},
		"another webhook's": {[]*admissionregistrationv1.ValidatingWebhookConfiguration{registrationNamed("w", "w.example.com", 0)}, map[csvspec.Identity]string{}},
		"the oldest of several": {[]*admissionregistrationv1.ValidatingWebhookConfiguration{
			registrationNamed("b", webhook, time.Hour), registrationNamed("a", webhook, time.Minute), registrationNamed("c", webhook, time.Second),
		}, map[csvspec.Identity]string{identity: "b"}},
		"the first by name of the same age": {[]*admissionregistrationv1.ValidatingWebhookConfiguration{
			registrationNamed("b", webhook, time.Hour), registrationNamed("a", webhook, time.Hour),
		}, map[csvspec.Identity]string{identity: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			forth := Observed{Validating: test.live}.Configurations(csv)
			slices.Reverse(test.live)
			back := Observed{Validating: test.live}.Configurations(csv)
			installtest.Same(t, "names", test.want, forth)
			installtest.Same(t, "names depend on the order of the cache", forth, back)
		})
	}
}

// A mutating registration is never that of a validating webhook.
func TestConfigurationsOfOtherType(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{webhookOf("manager")}
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: registrationNamed("m", "v.manager.example.com", 0).ObjectMeta}
	installtest.Same(t, "names", 0, len(Observed{Mutating: []*admissionregistrationv1.MutatingWebhookConfiguration{mutating}}.Configurations(csv)))
}

func TestOLMRegistrationIsAdopted(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	c.validating("manager").Name = "v.manager.example.com-x7k2p"
	plan := c.reconcile()
	installtest.Same(t, "steps", []string(nil), stepsOf(plan))
	installtest.Same(t, "the configuration in the status", "v.manager.example.com-x7k2p", plan.Status.Deployments[0].Webhooks[0].Configuration)
}

func TestTrustsOf(t *testing.T) {
	calling := func(namespace, service, bundle string) admissionregistrationv1.WebhookClientConfig {
		return admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: service}, CABundle: []byte(bundle)}
	}
	meta := metav1.ObjectMeta{Name: "a", UID: "u", Generation: 3, Annotations: map[string]string{wellknown.AnnotationGeneration: "7"}}
	meta.ManagedFields = []metav1.ManagedFieldsEntry{wrote(wellknown.FieldManager, `{"f:metadata":{"f:annotations":{"f:olm-webhook-manager.io/certificate-generation":{}}}}`)}
	converted := convertedCRD("manager-service", nil)
	converted.Spec.Conversion.Webhook.ClientConfig.Service.Namespace = "shop"
	opened := converted.DeepCopy()
	opened.Spec.Conversion.Webhook.ClientConfig.CABundle = nil
	observed := Observed{
		Validating: []*admissionregistrationv1.ValidatingWebhookConfiguration{{ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{ClientConfig: calling("shop", "manager-service", "one")}, {ClientConfig: calling("shop", "other-service", "other")},
			{ClientConfig: calling("mall", "manager-service", "elsewhere")}, {ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://example.com")}},
		}}},
		Mutating: []*admissionregistrationv1.MutatingWebhookConfiguration{{ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{{ClientConfig: calling("shop", "manager-service", "")}}}},
		CRDs:     map[string]*apiextensionsv1.CustomResourceDefinition{"c": converted, "o": opened},
	}
	canary := render.Canary(&operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}, "manager-service", 443, []byte("one"))
	labelled := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: *meta.DeepCopy(), Webhooks: []admissionregistrationv1.ValidatingWebhook{
		{Name: "v.example.com", ClientConfig: calling("shop", "manager-service", "two")},
	}}
	labelled.Name, labelled.Labels = "labelled as a canary", map[string]string{wellknown.LabelCanary: "labelled as a canary"}
	observed.Validating = append(observed.Validating, canary, labelled)
	want := []registration.Trust{
		{Name: "CustomResourceDefinition things.example.com", Version: "u/0", CABundle: []byte("theirs"), Generation: 0, Object: converted},
		{Name: "MutatingWebhookConfiguration a", Version: "u/3", CABundle: []byte{}, Generation: 7, Object: observed.Mutating[0]},
		{Name: "ValidatingWebhookConfiguration a", Version: "u/3", CABundle: []byte("one"), Generation: 7, Object: observed.Validating[0]},
		{Name: "ValidatingWebhookConfiguration labelled as a canary", Version: "u/3", CABundle: []byte("two"), Generation: 7, Object: labelled},
	}
	installtest.Same(t, "trusts", want, observed.TrustsOf("shop", "manager-service"))
}
