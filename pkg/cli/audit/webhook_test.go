package audit

import (
	"fmt"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestWebhooks(t *testing.T) {
	status := func(kind operatorsv1alpha1.WebhookAdmissionType, name string, openings ...managerv1alpha1.Opening) managerv1alpha1.WebhookStatus {
		return managerv1alpha1.WebhookStatus{Type: kind, GenerateName: name, Configuration: name + "-x", FailOpen: &managerv1alpha1.FailOpen{Openings: openings}}
	}
	lasting := opening(func(o *managerv1alpha1.Opening) { o.ClosedBy = "" })
	rollouts := []managerv1alpha1.WebhookRollout{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"},
		Status: managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{Webhooks: []managerv1alpha1.WebhookStatus{
			status(operatorsv1alpha1.ValidatingAdmissionWebhook, "closed", opening()),
			status(operatorsv1alpha1.ValidatingAdmissionWebhook, "never"),
			status(operatorsv1alpha1.ValidatingAdmissionWebhook, "lasting", lasting),
			status(operatorsv1alpha1.ValidatingAdmissionWebhook, "partly", opening()),
			status(operatorsv1alpha1.ValidatingAdmissionWebhook, "annotated", opening()),
			status(operatorsv1alpha1.MutatingAdmissionWebhook, "missing", opening()),
			{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "without"},
		}}}},
	}}
	configuration := func(name string, webhooks ...admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhookConfiguration {
		return admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name + "-x"}, Webhooks: webhooks}
	}
	conditions := []admissionregistrationv1.MatchCondition{{Name: "author", Expression: "true"}, {Name: wellknown.OpenMatchCondition, Expression: "!(true)"}}
	registered := Configurations{Validating: []admissionregistrationv1.ValidatingWebhookConfiguration{
		configuration("closed", admissionregistrationv1.ValidatingWebhook{Name: "closed"}), configuration("lasting", admissionregistrationv1.ValidatingWebhook{Name: "lasting"}),
		configuration("partly", admissionregistrationv1.ValidatingWebhook{Name: "partly", MatchConditions: conditions}, admissionregistrationv1.ValidatingWebhook{Name: "fail-open.partly"}),
	}}
	annotated := configuration("annotated", admissionregistrationv1.ValidatingWebhook{Name: "annotated"})
	annotated.Annotations = map[string]string{wellknown.AnnotationFailOpen: "All"}
	registered.Validating = append(registered.Validating, annotated)
	open := map[string]bool{"annotated": true, "closed": false, "lasting": true, "partly": true, "missing": false}
	all := Webhooks(rollouts, registered, nil)
	installtest.Same(t, "number", len(open), len(all))
	for _, w := range all {
		installtest.Same(t, w.Name+" is open", open[w.Name], w.Open)
		installtest.Same(t, w.Name+" is registered", w.Name != "missing", w.Declared != nil && w.Unread == "")
		if w.Name == "partly" {
			installtest.Same(t, "matchConditions", conditions[:1], w.Declared.MatchConditions)
		}
	}
	installtest.Same(t, "one name", 1, len(Webhooks(rollouts, registered, []string{"partly"})))
}

// Openings that a status keeps for the version that will continue their record are found, each once.
func TestKeptOpenings(t *testing.T) {
	first, second := opening(), opening(func(o *managerv1alpha1.Opening) { o.From = metav1.NewTime(o.From.Add(time.Hour)) })
	keeping := func(openings ...managerv1alpha1.Opening) managerv1alpha1.WebhookRolloutStatus {
		return managerv1alpha1.WebhookRolloutStatus{KeptOpenings: []managerv1alpha1.KeptOpenings{
			{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v", FailOpen: managerv1alpha1.FailOpen{Openings: openings}},
		}}
	}
	reporting := func(openings ...managerv1alpha1.Opening) managerv1alpha1.WebhookRolloutStatus {
		return managerv1alpha1.WebhookRolloutStatus{
			Deployments: []managerv1alpha1.DeploymentStatus{{Webhooks: []managerv1alpha1.WebhookStatus{
				{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v", Configuration: "v-x", FailOpen: &managerv1alpha1.FailOpen{Openings: openings}},
			}}},
			Upgrade: &managerv1alpha1.UpgradeStatus{From: []string{"shop.v1"}},
		}
	}
	unrelated := reporting(first)
	unrelated.Upgrade = nil
	named := func(namespace, name string, status managerv1alpha1.WebhookRolloutStatus) managerv1alpha1.WebhookRollout {
		return managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: status}
	}
	registered := Configurations{Validating: []admissionregistrationv1.ValidatingWebhookConfiguration{
		{ObjectMeta: metav1.ObjectMeta{Name: "v-x"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{Name: "v"}}},
	}}
	for name, test := range map[string]struct {
		rollouts []managerv1alpha1.WebhookRollout
		want     []string
	}{
		"only kept":             {[]managerv1alpha1.WebhookRollout{named("shop", "shop.v1", keeping(first))}, []string{"shop.v1 1 false"}},
		"the webhook is served": {[]managerv1alpha1.WebhookRollout{named("shop", "shop.v1", keeping(first)), named("shop", "shop.v2", reporting())}, []string{"shop.v1 1 true"}},
		"recorded, too":         {[]managerv1alpha1.WebhookRollout{named("shop", "shop.v1", keeping(first)), named("shop", "shop.v2", reporting(first))}, []string{"shop.v2 1 true"}},
		"one is recorded":       {[]managerv1alpha1.WebhookRollout{named("shop", "shop.v1", keeping(first, second)), named("shop", "shop.v2", reporting(first))}, []string{"shop.v2 1 true", "shop.v1 1 true"}},
		"another operator":      {[]managerv1alpha1.WebhookRollout{named("shop", "shop.v1", keeping(first)), named("shop", "mall.v1", unrelated)}, []string{"mall.v1 1 true", "shop.v1 1 false"}},
		"another namespace":     {[]managerv1alpha1.WebhookRollout{named("shop", "shop.v1", keeping(first)), named("mall", "shop.v2", reporting(first))}, []string{"shop.v2 1 true", "shop.v1 1 false"}},
	} {
		t.Run(name, func(t *testing.T) {
			var found []string
			for _, w := range Webhooks(test.rollouts, registered, []string{"v"}) {
				found = append(found, fmt.Sprintf("%s %d %t", w.Owner, len(w.Openings), w.Declared != nil))
			}
			installtest.Same(t, "owner, number of openings, registered", test.want, found)
		})
	}
	installtest.None(t, "webhooks of another name", Webhooks([]managerv1alpha1.WebhookRollout{named("shop", "shop.v1", keeping(first))}, registered, []string{"w"}))
}
