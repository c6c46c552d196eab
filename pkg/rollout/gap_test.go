package rollout

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// A definition loses its conversion, is observed so twice, and regains it: the gap has a beginning, an end, one event.
func TestConversionGap(t *testing.T) {
	live := convertedCRD("server-service", []string{"v2"}, "v1", "v2")
	webhook := operatorsv1alpha1.WebhookDescription{Type: operatorsv1alpha1.ConversionWebhook, GenerateName: "c.example.com", ConversionCRDs: []string{live.Name}}
	previous := managerv1alpha1.WebhookStatus{
		Type: webhook.Type, GenerateName: webhook.GenerateName,
		State: managerv1alpha1.WebhookRegistered, LastTransitionTime: new(metav1.NewTime(noon.Add(-time.Hour))),
	}
	statusOf := func(w managerv1alpha1.WebhookStatus) managerv1alpha1.WebhookRolloutStatus {
		return managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{Webhooks: []managerv1alpha1.WebhookStatus{w}}}}
	}
	observe := func(at time.Time, state managerv1alpha1.WebhookState) report.Event {
		t.Helper()
		p := newPlanner(Input{
			CSV:      &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "operators"}},
			Previous: statusOf(previous),
			Observed: Observed{CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{live.Name: live}, Services: map[string]*corev1.Service{"server-service": {}}},
		}, at)
		previous.State = state
		before := previous
		previous.LastGap = p.gapOf(webhook)
		for _, event := range report.EventsOf(statusOf(before), statusOf(previous)) {
			return event
		}
		return report.Event{}
	}

	if event := observe(noon, managerv1alpha1.WebhookRegistered); previous.LastGap != nil || event.Reason != "" {
		t.Errorf("before the gap: %+v, %+v", previous.LastGap, event)
	}
	conversion := live.Spec.Conversion
	live.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	live.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "olm-webhook-manager", Time: new(metav1.NewTime(noon))},
		{Manager: "kube-apiserver", Subresource: "status", Time: new(metav1.NewTime(noon.Add(2 * time.Second)))},
		{Manager: "helm", Time: new(metav1.NewTime(noon.Add(-2 * time.Hour)))},
		{Manager: "kubectl", Time: new(metav1.NewTime(noon.Add(time.Second)))},
	}
	for range 2 {
		event := observe(noon.Add(1500*time.Millisecond), managerv1alpha1.WebhookWaiting)
		gap := previous.LastGap
		if event.Reason != "" || gap == nil || gap.By != "kubectl" || !gap.StartTime.Time.Equal(noon.Add(time.Second)) || gap.EndTime != nil {
			t.Fatalf("during the gap: %+v, %+v", gap, event)
		}
	}
	live.Spec.Conversion = conversion
	const want = `things.example.com had no conversion webhook for at most 750ms, from 2026-03-01T12:00:01Z on, because field manager "kubectl" wrote spec.conversion: ` +
		"objects in another version may have lost fields. Do not apply spec.conversion"
	if event := observe(noon.Add(1750*time.Millisecond), managerv1alpha1.WebhookRegistered); event.Reason != "ConversionInterrupted" || event.Message != want || !event.Warning {
		t.Errorf("after the gap: %+v", event)
	}
	if event := observe(noon.Add(time.Hour), managerv1alpha1.WebhookRegistered); event.Reason != "" || previous.LastGap.EndTime == nil {
		t.Errorf("later: %+v, %+v", previous.LastGap, event)
	}
}

// Times in managedFields have a resolution of one second. Entries of the same second are sorted by name.
func TestLastOtherWriter(t *testing.T) {
	const (
		inConversion = `{"f:spec":{"f:conversion":{"f:strategy":{}},"f:group":{}}}`
		kept         = `{"f:spec":{"f:conversion":{"f:strategy":{}}}}` // by caches
		existence    = `{"f:spec":{"f:conversion":{".":{}},"f:versions":{}}}`
		other        = `{"f:metadata":{"f:labels":{"f:a":{}}}}`
	)
	at := func(second int, manager, fields string) metav1.ManagedFieldsEntry {
		entry := wrote(manager, fields)
		entry.Time = new(metav1.NewTime(noon.Add(time.Duration(second) * time.Second)))
		return entry
	}
	ofStatus := at(9, "kube-apiserver", inConversion)
	ofStatus.Subresource = "status"
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		by      string
	}{
		"no other client":             {[]metav1.ManagedFieldsEntry{at(1, "olm-webhook-manager", inConversion), ofStatus}, ""},
		"one":                         {[]metav1.ManagedFieldsEntry{at(0, "kubectl", other), at(1, "olm-webhook-manager", inConversion)}, "kubectl"},
		"the later":                   {[]metav1.ManagedFieldsEntry{at(0, "kubectl", inConversion), at(1, "helm", other)}, "helm"},
		"the owner of one second":     {[]metav1.ManagedFieldsEntry{at(0, "administrator", inConversion), at(0, "creator", existence)}, "administrator"},
		"the owner, listed last":      {[]metav1.ManagedFieldsEntry{at(0, "creator", existence), at(0, "kubectl", inConversion)}, "kubectl"},
		"the owner, and others later": {[]metav1.ManagedFieldsEntry{at(0, "kubectl", inConversion), at(1, "a", other), at(1, "b", other)}, ""},
		"two, and neither owns it":    {[]metav1.ManagedFieldsEntry{at(0, "a", other), at(0, "b", existence)}, ""},
		"two owners":                  {[]metav1.ManagedFieldsEntry{at(0, "a", inConversion), at(0, "b", inConversion)}, ""},
		"one in two ways":             {[]metav1.ManagedFieldsEntry{at(0, "kubectl", other), at(0, "kubectl", inConversion)}, "kubectl"},
	} {
		t.Run(name, func(t *testing.T) {
			crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{ManagedFields: test.entries}}
			drift.TrimDefinition(crd) // as caches do
			for _, entry := range crd.ManagedFields {
				if entry.FieldsV1 != nil && entry.FieldsV1.GetRawString() != kept {
					t.Errorf("the cache keeps %s", entry.FieldsV1.GetRawString())
				}
			}
			if by, when := conversion.LastOtherWriter(crd); by != test.by || when.IsZero() != (test.by == "") {
				t.Errorf("by %q at %s, want %q", by, when, test.by)
			}
		})
	}
}

// A definition that was prepared for a webhook that no Deployment serves yet is not converted by it.
func TestOpenedDefinitionIsNotConverted(t *testing.T) {
	live := convertedCRD("server-service", []string{"v1"}, "v1", "v2")
	desired := render.Conversion{CRD: live.Name, Spec: *live.Spec.Conversion.DeepCopy()}
	live.Spec.Conversion.Webhook.ClientConfig.CABundle = nil
	for delegated, want := range map[bool]bool{false: false, true: true} {
		desired.Delegated = delegated
		installtest.Same(t, fmt.Sprintf("converted without a caBundle, delegated %t", delegated), want, conversion.Calls(live, desired))
	}
}

func TestSetUpByOther(t *testing.T) {
	by := func(manager, fields string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{wrote(manager, fields)}
	}
	const strategy = `{"f:spec":{"f:conversion":{"f:strategy":{}}}}`
	const annotation = `{"f:metadata":{"f:annotations":{"f:olm-webhook-manager.io/certificate-generation":{}}}}`
	ca := newCA(t, "others")
	for name, test := range map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		want   bool
	}{
		"another client's":  {func(c *apiextensionsv1.CustomResourceDefinition) { c.ManagedFields = by("helm", strategy) }, true},
		"no managed fields": {func(*apiextensionsv1.CustomResourceDefinition) {}, true},
		"the manager's": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.ManagedFields = by("olm-webhook-manager", strategy)
		}, false},
		"the manager's by annotation": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.ManagedFields = by("olm-webhook-manager", annotation)
		}, false},
		"another field is the manager's": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.ManagedFields = by("olm-webhook-manager", `{"f:metadata":{"f:labels":{"f:a":{}}}}`)
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
			installtest.Same(t, "set up by another client", test.want, conversion.SetUpByOther(crd))
		})
	}
}
