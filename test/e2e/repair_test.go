package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A registration that a client deletes or edits is back within a second, and with it what the webhook guards.
func TestRepairUnderLoad(t *testing.T) {
	e := newHookEnv(t)
	before := e.registration()
	registrations := kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	edit := func(change func(*admissionregistrationv1.ValidatingWebhook)) func() error {
		return func() error {
			edited := e.registration()
			change(&edited.Webhooks[0])
			_, err := registrations.Update(e.ctx, &edited, metav1.UpdateOptions{FieldManager: "vandal"})
			return err
		}
	}
	damages := []struct {
		name   string
		damage func() error
	}{
		{"deleted", func() error { return registrations.Delete(e.ctx, before.Name, metav1.DeleteOptions{}) }},
		{"for other resources", edit(func(w *admissionregistrationv1.ValidatingWebhook) { w.Rules[0].Resources = []string{"secrets"} })},
		{"for other namespaces", edit(func(w *admissionregistrationv1.ValidatingWebhook) {
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "has-this"}}
		})},
		{"with failurePolicy Ignore", edit(func(w *admissionregistrationv1.ValidatingWebhook) {
			w.FailurePolicy = new(admissionregistrationv1.Ignore)
		})},
		{"trusting no CA", edit(func(w *admissionregistrationv1.ValidatingWebhook) { w.ClientConfig.CABundle = nil })},
	}

	load := e.startLoad()
	load.GoesOn(calls.Denied)
	excused := calls.Never
	for _, d := range damages {
		began, others := time.Now(), excused
		excused = func(c calls.Call) bool {
			return others(c) || c.Answered.After(began) && c.Sent.Before(began.Add(time.Second))
		}
		missed := load.Count(calls.Uncovered) + load.Count(calls.Failed)
		e.must(d.damage())
		kube.Within(e, time.Second, "the registration, "+d.name+", is as it was", func() (bool, any) {
			now, err := registrations.Get(e.ctx, before.Name, metav1.GetOptions{})
			return err == nil && equality.Semantic.DeepEqual(now.Webhooks, before.Webhooks), now.Webhooks
		})
		repaired := time.Since(began)
		load.GoesOn(calls.Denied)
		t.Logf("%s: repaired after %s, %d calls uncovered or failed", d.name, repaired.Round(time.Millisecond), load.Count(calls.Uncovered)+load.Count(calls.Failed)-missed)
	}
	load.End(excused)
}

// A live webhook that loses all its pods is reported, and otherwise not modified: what it guards stays closed.
func TestLosesAllPods(t *testing.T) {
	t.Parallel()
	e := newHookEnv(t)
	registered := e.registration()

	scale(e, "hook", 0)
	e.eventually("the message names the cause", func() (bool, any) { // EndpointSlices may be observed before the Deployment
		lost := e.webhookIs("hook.v1", managerv1alpha1.WebhookUnreachable, "NoReadyEndpoints")
		return strings.Contains(lost.Message, "deployment hook is scaled to 0"), lost.Message
	})
	warned(e, "hook.v1", "WebhookUnreachable")
	e.eventually("a call that the webhook would allow fails", func() (bool, any) {
		c := e.call(e.ctx, false) // pods that are ending may still answer
		return c.Outcome == calls.Failed && strings.Contains(c.Err.Error(), "failed calling webhook"), c.Err
	})
	isUntouched(e, registered)

	scale(e, "hook", 2)
	e.webhookIs("hook.v1", managerv1alpha1.WebhookRegistered, "Serving")
	callsAre(e, calls.Denied)
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
	installtest.Same(e, "failurePolicy", admissionregistrationv1.Fail, *now.Webhooks[0].FailurePolicy)
}
