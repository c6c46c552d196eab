package webhookconfig

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestWebhooks(t *testing.T) {
	const text = `{"webhooks": [{"name": "a.example.com"}, {
		"name": "b.example.com", "clientConfig": {"url": "https://b"}, "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
		"failurePolicy": "Ignore", "matchPolicy": "Exact", "namespaceSelector": {"matchLabels": {"a": "b"}}, "objectSelector": {"matchLabels": {"c": "d"}},
		"sideEffects": "None", "timeoutSeconds": 3, "admissionReviewVersions": ["v1"], "matchConditions": [{"name": "e", "expression": "true"}]}]}`
	validating, mutating := &admissionregistrationv1.ValidatingWebhookConfiguration{}, &admissionregistrationv1.MutatingWebhookConfiguration{}
	for _, configuration := range []any{validating, mutating} {
		installtest.Must(t, json.Unmarshal([]byte(text), configuration))
		if diff := cmp.Diff(validating.Webhooks, Webhooks(configuration)); diff != "" || len(validating.Webhooks) != 2 {
			t.Errorf("webhooks of a %T (-want +got):\n%s", configuration, diff)
		}
	}
	installtest.Same(t, "webhooks of a Pod", nil, Webhooks(&corev1.Pod{}))
}
