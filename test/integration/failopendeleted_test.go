package integration

import (
	"context"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// operator.v2 opens the webhook, and is deleted before it has succeeded. Its deletion takes long. The webhook is closed all the same,
// and is not open after the administrator has removed the annotations.
func TestOpenWebhookOfADeletedVersion(t *testing.T) {
	for name, keep := range map[string]func(*backend){
		"kept by a finalizer of another client": func(b *backend) { addFinalizer(b.env, "operator.v2") },
		"its end is refused by a webhook":       func(b *backend) { b.refusesVersions() },
	} {
		t.Run(name, func(t *testing.T) {
			b := opensDuringAnUpgrade(t)
			keep(b)
			b.must(b.olm.ClusterServiceVersions(b.namespace).Delete(b.ctx, "operator.v2", metav1.DeleteOptions{}))
			becomes(b.env, "the state of the webhook", b.openState, closed)
			b.eventually("operator.v1 keeps a record that has ended", func() (bool, any) {
				status := b.rollout("operator.v1")
				for _, kept := range status.KeptOpenings {
					return !kept.FailOpen.IsOpen(), status
				}
				record := webhookStatus(b.env, "operator.v1", "v.example.com").FailOpen
				return record != nil && len(record.Openings) > 0 && record.Openings[0].ClosedBy != "", status
			})
			b.withdraws() // operator.v1 may have opened it again.
			becomes(b.env, "the state of the webhook", b.openState, closed)
			b.looksFor(6*time.Second, func() { // It would be open again after 3 seconds.
				if b.openState() != closed {
					t.Error("the webhook is open again")
				}
			})
			same(t, "operator.v2 still exists", b.get("operator.v2").DeletionTimestamp != nil, true)
		})
	}
}

// opensDuringAnUpgrade returns the backend of a webhook that operator.v2 has opened, before it has succeeded.
func opensDuringAnUpgrade(t *testing.T) *backend {
	t.Helper()
	b := newBackendIn(newOperatorEnv(t, "last"), map[string]string{"fail-open-after": "30s"})
	next := replacing("operator.v1", csv("operator.v2", "server", "last"))
	next.Spec.WebhookDefinitions = b.get("operator.v1").Spec.WebhookDefinitions
	b.create(next)
	b.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	b.goes()
	b.eventually("operator.v2 opens the webhook", func() (bool, any) {
		record := webhookStatus(b.env, "operator.v2", "v.example.com").FailOpen
		return record.IsOpen() && b.openState() == partly, record
	})
	return b
}

func (b *backend) openState() managerv1alpha1.FailOpenState {
	b.Helper()
	live := b.registration("v.example.com")
	return webhookconfig.OpenState(&live)
}

// An edit makes the declaration of an open webhook invalid. The deletion of the version ends all the same.
func TestOpenWebhookOfADeletedVersionWithAnInvalidDeclaration(t *testing.T) {
	b := opensDuringAnUpgrade(t)
	b.edit("operator.v2", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions[0].TimeoutSeconds = new(int32(60))
	})
	b.uninstall("operator.v2")
	noLongerExist(b.env, "operator.v2")
}

// operator.v2 is deleted while its upgrade has stopped, and another client keeps it. A budget that lets no pod be evicted is deleted.
func TestDisruptionBudgetNextToADeletedVersion(t *testing.T) {
	e, _ := upgradeStops(t)
	addFinalizer(e, "operator.v2")
	e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v2", metav1.DeleteOptions{}))
	becomes(e, "the number of finalizers", func() int { return len(e.get("operator.v2").Finalizers) }, 1)
	scale(e, "second", 1)
	scale(e, "server", 1)
	becomes(e, "the Deployments have a budget", func() []bool { return []bool{hasBudget(e, "server"), hasBudget(e, "second")} }, []bool{false, false})
}

// addFinalizer is what another client does. It removes it at the end.
func addFinalizer(e *env, csv string) {
	e.Helper()
	client := e.olm.ClusterServiceVersions(e.namespace)
	_, err := client.Patch(e.ctx, csv, types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/finalizers/-","value":"example.com/kept"}]`), metav1.PatchOptions{})
	e.must(err)
	e.Cleanup(func() {
		_, _ = client.Patch(context.WithoutCancel(e.ctx), csv, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
}

// withdraws removes the annotations from the Subscription.
func (b *backend) withdraws() {
	b.Helper()
	client := b.olm.Subscriptions(b.namespace)
	subscription := kube.List(b.env, client, metav1.ListOptions{}).Items[0]
	subscription.Spec.Config.Annotations = nil
	_, err := client.Update(b.ctx, &subscription, metav1.UpdateOptions{})
	b.must(err)
}

// refusesVersions registers a webhook of another operator for updates of ClusterServiceVersions. No server listens at its address.
func (b *backend) refusesVersions() {
	b.Helper()
	l := listen(b.env)
	b.must(l.Close())
	r := rule([]string{"operators.coreos.com"}, "clusterserviceversions")
	r.Operations, r.APIVersions = []admissionregistrationv1.OperationType{admissionregistrationv1.Update}, []string{"*"}
	client, name := b.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), "lost-"+b.namespace
	b.Cleanup(func() { _ = client.Delete(context.WithoutCancel(b.ctx), name, metav1.DeleteOptions{}) })
	kube.Create(b.env, client, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "lost.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://" + l.Addr().String() + "/")},
			Rules: []admissionregistrationv1.RuleWithOperations{r}, SideEffects: new(admissionregistrationv1.SideEffectClassNone), TimeoutSeconds: new(int32(5)),
			AdmissionReviewVersions: []string{"v1"}, FailurePolicy: new(admissionregistrationv1.Fail),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": b.namespace}},
		}},
	})
}
