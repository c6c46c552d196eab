// Command poddefaults is the webhook server of the poddefaults operator, which applies the
// PodDefaults of a namespace to its new pods.
package main

import (
	"os"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

const webhookPath = "/apply-poddefault"

func main() { os.Exit(newBuilder().Run()) }

func newBuilder() *hosting.Builder {
	b := hosting.NewBuilder("poddefaults")
	b.RegisterWebhook("poddefaults", newWebhook(newStore()))
	return b
}

func newWebhook(s *store) hosting.Webhook {
	return hosting.Webhook{
		Handler:    hosting.Mutating(injector{s.In}.admit),
		Kinds:      []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")},
		Operations: []admissionv1.Operation{admissionv1.Create},
		Path:       webhookPath,
		Prepare:    s.Follow,
	}
}
