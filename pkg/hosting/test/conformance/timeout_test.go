package conformance

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// waiting is a call whose handler waits.
type waiting struct {
	name            string
	began, deadline time.Time
}

// After the timeout of the registration, the failurePolicy decides.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for policy, wantErr := range map[admissionregistrationv1.FailurePolicyType]string{
		admissionregistrationv1.Ignore: "",
		admissionregistrationv1.Fail:   "context deadline exceeded",
	} {
		t.Run(string(policy), func(t *testing.T) {
			namespace := newNamespaceOf(t, "timeout-"+strings.ToLower(string(policy)))
			var last atomic.Pointer[waiting]
			w := obeying(func(judge func(context.Context, hosting.Request[*corev1.ConfigMap]) error) hosting.Handler {
				return hosting.Validating(func(ctx context.Context, r hosting.Request[*corev1.ConfigMap]) error {
					if r.Object.Data["do"] == "wait" {
						deadline, _ := ctx.Deadline()
						last.Store(&waiting{r.Object.Name, time.Now(), deadline})
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

			object := doing("wait")
			// A busy machine may not call the handler in time: another call is made.
			hostingtest.Eventually(t, "the handler is called", func() bool {
				object.Name += "-again"
				sent := time.Now()
				_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if (err != nil) != (wantErr != "") || err != nil && !strings.Contains(err.Error(), wantErr) {
					t.Errorf("got %v, want %q", err, wantErr)
				}
				w := last.Load()
				if w == nil || w.name != object.Name {
					return false
				}
				if w.deadline.Sub(sent) < 2*time.Second || w.deadline.Sub(w.began) > 2*time.Second {
					t.Errorf("of 2 s, the handler was given %s, %s after the call was sent", w.deadline.Sub(w.began), w.began.Sub(sent))
				}
				return true
			})
		})
	}
}
