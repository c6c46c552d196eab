// Command projectpolicy is the webhook server of the projectpolicy operator. It denies namespaces
// whose name or labels break a ProjectPolicy, and writes to the status of each ProjectPolicy
// whether it can be enforced.
package main

import (
	"context"
	"errors"
	"os"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

const webhookPath = "/validate-namespaces"

func main() { os.Exit(newBuilder(os.Getenv("POD_NAMESPACE")).Run()) }

func newBuilder(ownNamespace string) *hosting.Builder {
	b := hosting.NewBuilder("projectpolicy")
	b.RegisterWebhook("namespaces", newWebhook(ownNamespace, newPolicyStore()))
	return b
}

func newWebhook(ownNamespace string, policies *policyStore) hosting.Webhook {
	return hosting.Webhook{
		Handler:    hosting.Validating(newJudge(ownNamespace, policies.Snapshot).Review),
		Kinds:      []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Namespace")},
		Operations: []admissionv1.Operation{admissionv1.Create, admissionv1.Update},
		Path:       webhookPath,
		Prepare: func(ctx context.Context, env hosting.Environment) error {
			if ownNamespace == "" {
				return errors.New("the environment variable POD_NAMESPACE is not set: set it to the namespace of this server (fieldRef metadata.namespace), which must never be denied")
			}
			client, err := dynamic.NewForConfig(env.Config)
			if err != nil {
				return err
			}
			return policies.Follow(ctx, client)
		},
	}
}
