package e2e

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A registration that a client deletes or edits is back within a second, and with it
// what the webhook guards.
func TestRepairUnderLoad(t *testing.T) {
	e := newEnv(t)
	e.create(hookCSV("hook.v1", server("hook")))
	e.succeeds("hook.v1")
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
	load.goesOn(denied)
	excused := never
	for _, d := range damages {
		began, others := time.Now(), excused
		excused = func(c call) bool {
			return others(c) || c.answered.After(began) && c.sent.Before(began.Add(time.Second))
		}
		missed := load.count(uncovered) + load.count(failed)
		e.must(d.damage())
		within(e, time.Second, "the registration, "+d.name+", is as it was", func() (bool, any) {
			now, err := registrations.Get(e.ctx, before.Name, metav1.GetOptions{})
			return err == nil && equality.Semantic.DeepEqual(now.Webhooks, before.Webhooks), now.Webhooks
		})
		repaired := time.Since(began)
		load.goesOn(denied)
		t.Logf("%s: repaired after %s, %d calls uncovered or failed", d.name, repaired.Round(time.Millisecond), load.count(uncovered)+load.count(failed)-missed)
	}
	load.end(excused)
}
