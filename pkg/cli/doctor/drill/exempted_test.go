package drill

import (
	"encoding/json"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// A webhook that sees every request does not keep its own pods from returning, nor what they need, if the manager
// registers it. This holds for every request that the drill knows.
func TestRegisteredWebhooksReturn(t *testing.T) {
	everything := admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*/*"}},
	}
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("server")), installtest.ServedBy("server", func(d *operatorsv1alpha1.WebhookDescription) {
		d.Rules = []admissionregistrationv1.RuleWithOperations{everything}
	}))
	csv.Namespace = "server"
	given := base + network + proxy + operator("server") + operator("b") + `
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: server}, spec: {hard: {pods: "5"}}}
`
	s := snapshot(t, parse(t, given))
	w := &csv.Spec.WebhookDefinitions[0]
	configuration := admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "v.example.com", Rules: w.Rules, NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
		ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "server", Name: "server"}},
	}}}
	s.Admission.ValidatingWebhooks = append(s.Admission.ValidatingWebhooks, configuration)
	if surely, _ := installtest.OrPanic(Predict(s)).Blocked(); !surely {
		t.Fatal("without matchConditions, nothing is blocked: this shows nothing")
	}
	in := exemptions.Input{CSV: csv, Scope: scope.Scope{Namespaces: []string{metav1.NamespaceAll}}, Services: map[string]string{"server": "server"}}
	for _, e := range exemptions.For(in)(*w) {
		configuration.Webhooks[0].MatchConditions = append(configuration.Webhooks[0].MatchConditions, e.MatchCondition())
	}
	s.Admission.ValidatingWebhooks[0] = configuration
	p := installtest.OrPanic(Predict(s))
	r := summarized(p)
	installtest.Same(t, "waves", []string{"flannel kube-proxy coredns server", "b"}, r.waves)
	if len(p.Never) > 0 {
		t.Error(string(installtest.OrPanic(json.MarshalIndent(p.Never, "", " "))))
	}
}
