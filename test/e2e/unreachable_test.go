package e2e

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A live webhook that loses all its pods is reported, and otherwise not modified: what it
// guards stays closed.
func TestLosesAllPods(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.create(hookCSV("hook.v1", server("hook")))
	e.succeeds("hook.v1")
	registered := e.registration()

	scale(e, "hook", 0)
	lost := e.webhookIs("hook.v1", managerv1alpha1.WebhookUnreachable, "NoReadyEndpoints")
	event := warned(e, "hook.v1", "WebhookUnreachable")
	for _, message := range []string{lost.Message, event} {
		if !strings.Contains(message, "deployment hook is scaled to 0") {
			t.Errorf("the message does not report why no endpoint answers: %q", message)
		}
	}
	e.eventually("a call that the webhook would allow fails", func() (bool, any) {
		c := e.call(e.ctx, false) // pods that are ending may still answer
		return c.outcome == failed && strings.Contains(c.err.Error(), "failed calling webhook"), c.err
	})
	isUntouched(e, registered)

	scale(e, "hook", 2)
	e.webhookIs("hook.v1", managerv1alpha1.WebhookRegistered, "Serving")
	callsAre(e, denied)
	isUntouched(e, registered)
}

func scale(e *env, deployment string, replicas int) {
	e.Helper()
	kube.Patch(e, kubeClient.AppsV1().Deployments(e.namespace), deployment, types.MergePatchType,
		fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas), "scale")
}

func isUntouched(e *env, registered admissionregistrationv1.ValidatingWebhookConfiguration) {
	e.Helper()
	now := e.registration()
	if now.UID != registered.UID || now.ResourceVersion != registered.ResourceVersion {
		e.Errorf("%s was written to: uid %s, resourceVersion %s, want %s and %s", now.Name, now.UID, now.ResourceVersion, registered.UID, registered.ResourceVersion)
	}
	if policy := *now.Webhooks[0].FailurePolicy; policy != admissionregistrationv1.Fail {
		e.Errorf("failurePolicy is %s, want %s", policy, admissionregistrationv1.Fail)
	}
}
