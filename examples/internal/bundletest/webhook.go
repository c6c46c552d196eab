package bundletest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

// Webhook returns the only webhook definition of a bundle, which must have the path of the program's webhook.
func Webhook(t *testing.T, file string, served hosting.Webhook) operatorsv1alpha1.WebhookDescription {
	t.Helper()
	definitions := CSV(t, file).Spec.WebhookDefinitions
	if len(definitions) != 1 {
		t.Fatalf("%s has %d webhook definitions", file, len(definitions))
	}
	if path := definitions[0].WebhookPath; path == nil || *path != served.Path {
		t.Errorf("%s: webhookPath is %v and the program serves %s", file, path, served.Path)
	}
	return definitions[0]
}

// AdmissionWebhook is Webhook for a resource of the core group. The rules must match the program's operations.
func AdmissionWebhook(t *testing.T, file string, served hosting.Webhook, resource string, scope admissionregistrationv1.ScopeType, others ...admissionregistrationv1.RuleWithOperations) operatorsv1alpha1.WebhookDescription {
	t.Helper()
	rule := admissionregistrationv1.RuleWithOperations{
		Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}, Scope: &scope},
	}
	for _, o := range served.Operations {
		rule.Operations = append(rule.Operations, admissionregistrationv1.OperationType(o))
	}
	webhook := Webhook(t, file, served)
	if diff := cmp.Diff(append([]admissionregistrationv1.RuleWithOperations{rule}, others...), webhook.Rules); diff != "" {
		t.Errorf("%s: rules (-program +bundle):\n%s", file, diff)
	}
	return webhook
}
