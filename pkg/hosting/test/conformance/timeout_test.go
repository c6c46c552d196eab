package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

// A handler has as long as its registration says, and then the API server does what the
// failurePolicy says.
func TestTimeout(t *testing.T) {
	for policy, wantErr := range map[admissionregistrationv1.FailurePolicyType]string{
		admissionregistrationv1.Ignore: "",
		admissionregistrationv1.Fail:   "context deadline exceeded",
	} {
		t.Run(string(policy), func(t *testing.T) {
			namespace := newNamespaceOf(t, "timeout-"+strings.ToLower(string(policy)))
			given := make(chan time.Duration, 1)
			w := obeying(func(judge func(context.Context, hosting.Request[*corev1.ConfigMap]) error) hosting.Handler {
				return hosting.Validating(func(ctx context.Context, r hosting.Request[*corev1.ConfigMap]) error {
					deadline, _ := ctx.Deadline()
					if r.Object.Data["do"] == "wait" {
						given <- time.Until(deadline)
					}
					return judge(ctx, r)
				})
			}, namespace)
			w.Registration.TimeoutSeconds = 2
			w.Registration.FailurePolicy = policy
			b := hosting.NewBuilder(namespace)
			b.RegisterWebhook("slow", w)
			start(t, b, "--register-webhooks")
			client, _ := newClient(t)
			waitUntilCalled(t, client, namespace)

			_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), doing("wait"), metav1.CreateOptions{})
			if (err != nil) != (wantErr != "") || err != nil && !strings.Contains(err.Error(), wantErr) {
				t.Errorf("got %v, want %q", err, wantErr)
			}
			if d := <-given; d > 2*time.Second || d < time.Second {
				t.Errorf("of 2 s, the handler was given %s", d)
			}
		})
	}
}
