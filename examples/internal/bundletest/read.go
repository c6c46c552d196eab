// Package bundletest compares the examples' bundles with their programs.
package bundletest

import (
	"encoding/json"
	"os"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// CSV reads a ClusterServiceVersion.
func CSV(t *testing.T, file string) *operatorsv1alpha1.ClusterServiceVersion {
	t.Helper()
	csv := Read[operatorsv1alpha1.ClusterServiceVersion](t, file)
	return &csv
}

// Read reads an object, and refuses unknown fields.
func Read[T any](t *testing.T, file string) T {
	t.Helper()
	var value T
	if err := yaml.UnmarshalStrict(text(t, file), &value); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return value
}

// Sample reads the sample of a custom resource, which must be the only one of the CSV's alm-examples.
func Sample[T any](t *testing.T, file, csvFile string) T {
	t.Helper()
	sample := Read[T](t, file)
	var examples []T
	installtest.Must(t, json.Unmarshal([]byte(CSV(t, csvFile).Annotations["alm-examples"]), &examples))
	installtest.Same(t, "alm-examples, compared with "+file, []T{sample}, examples)
	return sample
}

func text(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file) //nolint:gosec // G304: a test names the file
	installtest.Must(t, err)
	return data
}

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
	installtest.Same(t, "rules of "+file+", compared with the program", append([]admissionregistrationv1.RuleWithOperations{rule}, others...), webhook.Rules)
	return webhook
}
