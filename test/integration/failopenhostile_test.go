package integration

import (
	"maps"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// editRollout plays a client that writes the status of the WebhookRollout.
func (b *backend) editRollout(change func(*managerv1alpha1.WebhookStatus)) {
	b.Helper()
	client := b.olm.WebhookRollouts(b.namespace)
	b.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		r, err := client.Get(b.ctx, "operator.v1", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(&r.Status.Deployments[0].Webhooks[0])
		_, err = client.UpdateStatus(b.ctx, r, metav1.UpdateOptions{FieldManager: "tenant"})
		return err
	}))
}

// claimOpen has the status claim that the webhook is open for all, for days.
func (b *backend) claimOpen() {
	b.Helper()
	b.editRollout(func(w *managerv1alpha1.WebhookStatus) {
		ago := metav1.NewTime(time.Now().Add(-time.Minute).Truncate(time.Second))
		w.FailOpen = &managerv1alpha1.FailOpen{State: all, UnreachableSince: &ago, Openings: []managerv1alpha1.Opening{
			{From: ago, AllFrom: &ago, Until: new(metav1.NewTime(ago.Add(48 * time.Hour))), Requests: "true"},
		}}
	})
}

func (b *backend) editRegistration(change func(*admissionregistrationv1.ValidatingWebhookConfiguration)) {
	b.Helper()
	client := b.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	b.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, err := client.Get(b.ctx, b.registration("v.example.com").Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(live)
		_, err = client.Update(b.ctx, live, metav1.UpdateOptions{FieldManager: "tenant"})
		return err
	}))
}

func subscribeAlso(e *env, namespace, name string, settings map[string]string) {
	e.Helper()
	kube.Create(e, e.olm.Subscriptions(namespace), &operatorsv1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: &operatorsv1alpha1.SubscriptionSpec{
			CatalogSource: "catalog", CatalogSourceNamespace: namespace, Package: "another", StartingCSV: "operator.v1",
			Config: &operatorsv1alpha1.SubscriptionConfig{Annotations: withPrefix(settings)},
		},
	})
}

// What a tenant can do opens no webhook earlier than the administrator allows: in these cases within 10 minutes, in the
// time of the test 20 seconds. Pods that are lost again and again would open it after 4 seconds, if moments with pods did not count.
func TestTenantOpensNothing(t *testing.T) {
	most := map[string]string{"fail-open-after": "30s", "fail-open-all-after": "30s", "fail-open-for": "24h"}
	for name, test := range map[string]struct {
		settings map[string]string // after 10 minutes, when nil
		attack   func(*backend)
	}{
		"the pods are lost for a moment, again and again": {map[string]string{"fail-open-after": "2m"}, func(b *backend) {
			b.goes()
			b.eventually("it is unreachable", func() (bool, any) { return b.record().UnreachableSince != nil, nil })
			b.comes()
			b.eventually("it serves", func() (bool, any) { return b.record().UnreachableSince == nil, nil })
		}},
		"the status claims an older outage": {nil, func(b *backend) {
			if !b.down.Load() {
				b.goes()
			}
			b.editRollout(func(w *managerv1alpha1.WebhookStatus) {
				w.FailOpen = &managerv1alpha1.FailOpen{State: closed, UnreachableSince: new(metav1.NewTime(time.Now().Add(-time.Hour)))}
			})
		}},
		"the status claims an opening": {nil, func(b *backend) {
			if !b.down.Load() {
				b.goes()
			}
			b.claimOpen()
		}},
		"the status claims an opening before the manager starts": {nil, func(b *backend) {
			if !b.down.Load() {
				b.goes()
				b.stop()
				b.claimOpen()
				b.manager = b.manage(shortly)
			}
			b.claimOpen()
		}},
		"the ClusterServiceVersion allows more than the Subscription": {nil, func(b *backend) {
			if !b.down.Load() {
				b.goes()
			}
			b.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Annotations = withPrefix(most) })
		}},
		"a Subscription in another namespace": {nil, func(b *backend) {
			if !b.down.Load() {
				subscribeAlso(b.env, b.other, "operator", most)
				b.goes()
			}
		}},
		"a second Subscription": {nil, func(b *backend) {
			if !b.down.Load() {
				subscribeAlso(b.env, b.namespace, "a-second", most)
				b.goes()
			}
		}},
		"a second Subscription, although the first allows it": {most, func(b *backend) {
			if !b.down.Load() {
				subscribeAlso(b.env, b.namespace, "a-second", most)
				b.eventually("it is refused", func() (bool, any) {
					c := conditionIn(b.rollout("operator.v1").Conditions, "ConfigRefused")
					return c.Message != "", c
				})
				b.goes()
			}
		}},
		"the configuration claims an opening": {map[string]string{}, func(b *backend) {
			if b.attacked {
				return // three repairs within a minute would be contested
			}
			b.attacked = true
			b.editRegistration(func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
				c.Annotations = maps.Clone(c.Annotations)
				c.Annotations[wellknown.AnnotationFailOpen] = "All"
				c.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
			})
			b.eventually("it is repaired", func() (bool, any) {
				live := b.registration("v.example.com")
				return *live.Webhooks[0].FailurePolicy == admissionregistrationv1.Fail, live
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			settings := test.settings
			if settings == nil {
				settings = map[string]string{"fail-open-after": "10m"}
			}
			b := newBackend(t, settings)
			b.looksFor(6*time.Second, func() {
				test.attack(b)
				live := b.registration("v.example.com")
				installtest.Same(t, "the configuration", closed, webhookconfig.OpenState(&live))
				installtest.Same(t, "failurePolicy", admissionregistrationv1.Fail, *live.Webhooks[0].FailurePolicy)
			})
			b.eventually("the status does not claim an opening", func() (bool, any) { return !b.record().IsOpen(), b.record() })
		})
	}
}

// The manager cannot dial the pods, as with a NetworkPolicy, and API servers can: nothing is unreachable.
func TestFailOpenUndialled(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "30s"})
	b.stop()
	b.manager = b.manage(cutOff, func(o *controller.Options) { o.Rollout.FailOpenDivisor = 30 })
	b.looksFor(3*time.Second, func() {
		if r := b.record(); r != nil && (r.UnreachableSince != nil || r.IsOpen()) {
			t.Errorf("the record is %+v", r)
		}
	})
	b.goes()
	b.is(partly)
	b.comes()
	b.is(closed)
	same(t, "closed by what the API server proved", b.opening(0).ClosedBy, managerv1alpha1.ClosedServed)
}

// The pods serve a certificate that API servers refuse: no endpoint is missing, so nothing opens. In an outage, such a pod
// is no proof that the backend serves.
func TestFailOpenOtherCertificate(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "30s"})
	b.goes()
	b.is(partly)
	other := listen(b.env)
	answer(b.env, other, otherCertificate(b.env), permitAtValidate)
	endpoint(b.env, other)
	b.looksFor(3*time.Second, func() { same(t, "the state", b.record().State, partly) })
	same(t, "the number of openings", len(b.record().Openings), 1)
}

// All openings together last no longer than the administrator allows, in spite of edits of the status.
func TestFailOpenBudget(t *testing.T) {
	b := newBackend(t, map[string]string{"fail-open-after": "30s", "fail-open-for": "3m"})
	for range 3 {
		b.goes()
		b.eventually("it is open, or has no time left", func() (bool, any) {
			r := b.record()
			return r.IsOpen() || r.UnreachableSince != nil && time.Since(r.UnreachableSince.Time) > 4*time.Second, r
		})
		b.editRollout(func(w *managerv1alpha1.WebhookStatus) { w.FailOpen.Openings = nil })
		b.is(closed)
		b.comes()
		b.eventually("it serves", func() (bool, any) { return b.record().UnreachableSince == nil, b.record() })
	}
	var recorded time.Duration
	for _, o := range b.record().Openings {
		recorded += o.Until.Sub(o.From.Time)
	}
	if recorded == 0 || recorded > 10*time.Second {
		t.Errorf("it was open for %s, and 6s are allowed: %+v", recorded, b.record().Openings)
	}
}
