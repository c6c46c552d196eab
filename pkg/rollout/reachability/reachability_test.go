package reachability

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var (
	noon  = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	since = metav1.NewTime(noon)
	named = calls.Webhook{Step: calls.Validating, Name: "v.example.com"}
)

func webhook(kind operatorsv1alpha1.WebhookAdmissionType, state managerv1alpha1.WebhookState, from ...managerv1alpha1.UnreachableFrom) managerv1alpha1.WebhookStatus {
	return managerv1alpha1.WebhookStatus{Type: kind, GenerateName: named.Name, State: state, UnreachableFrom: from}
}

func status(webhooks ...managerv1alpha1.WebhookStatus) managerv1alpha1.WebhookRolloutStatus {
	return managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{}, {Webhooks: webhooks}}}
}

// API servers call registered webhooks. They count those of admission by name.
func TestCalled(t *testing.T) {
	for name, test := range map[string]struct {
		webhook managerv1alpha1.WebhookStatus
		want    calls.Webhook
	}{
		"validating":  {webhook(operatorsv1alpha1.ValidatingAdmissionWebhook, managerv1alpha1.WebhookRegistered), named},
		"mutating":    {webhook(operatorsv1alpha1.MutatingAdmissionWebhook, managerv1alpha1.WebhookRegistered), calls.Webhook{Step: calls.Mutating, Name: named.Name}},
		"unreachable": {webhook(operatorsv1alpha1.ValidatingAdmissionWebhook, managerv1alpha1.WebhookUnreachable), named},
		"waiting":     {webhook(operatorsv1alpha1.ValidatingAdmissionWebhook, managerv1alpha1.WebhookWaiting), calls.Webhook{}},
		"conversion":  {webhook(operatorsv1alpha1.ConversionWebhook, managerv1alpha1.WebhookRegistered), calls.Webhook{}},
	} {
		got := calls.Webhook{}
		for called := range Called(status(test.webhook)) {
			got = called
		}
		installtest.Same(t, name, test.want, got)
	}
}

func TestFrom(t *testing.T) {
	before := []managerv1alpha1.UnreachableFrom{{APIServer: "b", Error: "code 503", StartTime: since}}
	failing := calls.Report{Complete: true, Failures: map[calls.Webhook][]calls.ServerFailure{named: {{APIServer: "a", Failure: calls.Failure{Error: "code 500", Since: noon}}}}}
	validating := operatorsv1alpha1.WebhookDescription{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: named.Name}
	mutating := operatorsv1alpha1.WebhookDescription{Type: operatorsv1alpha1.MutatingAdmissionWebhook, GenerateName: named.Name}
	for name, test := range map[string]struct {
		report  calls.Report
		webhook operatorsv1alpha1.WebhookDescription
		want    []managerv1alpha1.UnreachableFrom
	}{
		"nothing is known yet":                  {calls.Report{}, validating, before},
		"no call fails":                         {calls.Report{Complete: true}, validating, nil},
		"calls fail":                            {failing, validating, []managerv1alpha1.UnreachableFrom{{APIServer: "a", Error: "code 500", StartTime: since}}},
		"calls of a mutating one do not":        {failing, mutating, nil},
		"conversions of this name are no calls": {failing, operatorsv1alpha1.WebhookDescription{Type: operatorsv1alpha1.ConversionWebhook, GenerateName: named.Name}, nil},
	} {
		installtest.Same(t, name, test.want, From(test.report, test.webhook, &managerv1alpha1.WebhookStatus{UnreachableFrom: before}))
	}
	installtest.Same(t, "without an earlier status", []managerv1alpha1.UnreachableFrom(nil), From(calls.Report{}, validating, nil))
}

func TestCondition(t *testing.T) {
	const registered, validating = managerv1alpha1.WebhookRegistered, operatorsv1alpha1.ValidatingAdmissionWebhook
	fails := webhook(validating, registered, managerv1alpha1.UnreachableFrom{APIServer: "b", Error: "code 503", StartTime: since}, managerv1alpha1.UnreachableFrom{APIServer: "a", Error: "code 500", StartTime: since})
	shared := calls.Report{Complete: true, Shared: map[calls.Webhook][]string{named: {"one", "two"}, {Step: calls.Validating, Name: "other"}: {"three"}}, Unobserved: "forbidden"}
	for name, test := range map[string]struct {
		report  calls.Report
		webhook managerv1alpha1.WebhookStatus
		want    metav1.Condition
	}{
		"no call fails": {calls.Report{Complete: true}, webhook(validating, registered), metav1.Condition{}},
		"calls fail": {shared, fails, metav1.Condition{Message: "calls of webhook v.example.com from API server a fail since 2026-05-04T12:00:00Z: code 500; " +
			"calls of webhook v.example.com from API server b fail since 2026-05-04T12:00:00Z: code 503. Check the routes from these API servers to the Service and its pods: kubectl webhooks doctor"}},
		"the name is shared": {shared, webhook(validating, registered), metav1.Condition{Status: metav1.ConditionUnknown, Reason: "NameShared",
			Message: "calls of webhook v.example.com fail, and it is not known of which configuration: API servers count the calls of all configurations together that have a webhook of this name: one, two"}},
		"an API server is not observed": {calls.Report{Complete: true, Unobserved: "forbidden"}, webhook(validating, registered), metav1.Condition{Status: metav1.ConditionUnknown, Reason: "NotObserved",
			Message: "whether calls fail is not known for each API server: forbidden"}},
		"no webhook is registered": {shared, webhook(validating, managerv1alpha1.WebhookWaiting), metav1.Condition{}},
	} {
		test.want.Type = "CallsFail"
		installtest.Same(t, name, test.want, Condition(test.report, status(test.webhook)))
	}
}

func TestReports(t *testing.T) {
	installtest.Same(t, "without conditions", false, Reports(status()))
	installtest.Same(t, "with the condition", true, Reports(managerv1alpha1.WebhookRolloutStatus{Conditions: []metav1.Condition{{Type: "CallsFail"}}}))
}
