package render

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestInterceptionOf(t *testing.T) {
	type change = func(*operatorsv1alpha1.WebhookDescription)
	const create, everything = admissionregistrationv1.Create, admissionregistrationv1.OperationAll
	everywhere, narrow := func(*operatorsv1.OperatorGroup) {}, installtest.Targeting("red")
	open := func(d *operatorsv1alpha1.WebhookDescription) { d.FailurePolicy = new(admissionregistrationv1.Ignore) }
	two := func(d *operatorsv1alpha1.WebhookDescription) {
		d.Rules = append(d.Rules, installtest.RuleOf([]string{"shop.example.com"}, []string{"orders", "orders/status"}))
		d.Rules[1].Operations = []admissionregistrationv1.OperationType{create, admissionregistrationv1.Update}
	}
	for name, test := range map[string]struct {
		webhook []change
		group   func(*operatorsv1.OperatorGroup)
		want    Interception
	}{
		"pods": {[]change{installtest.AboutRequests(create, "", "pods")}, everywhere, Interception{
			Text: "CREATE of pods in all namespaces", Exempt: []string{"its own pods", "the workloads of kube-system and olm-webhook-manager"}}},
		"pods of some namespaces": {[]change{installtest.AboutRequests(create, "", "pods")}, narrow, Interception{
			Text: "CREATE of pods in the namespaces of OperatorGroup group"}},
		"nodes, under a narrow group": {[]change{installtest.AboutRequests(everything, "", "nodes")}, narrow, Interception{
			Text: "every operation of nodes in the whole cluster", BeyondScope: []string{"nodes"}, Exempt: []string{"the status of nodes"}}},
		"all of core, under a narrow group": {[]change{installtest.AboutRequests(create, "", "*"), open}, narrow, Interception{
			Text: "CREATE of * in the namespaces of OperatorGroup group, and everywhere if they are in no namespace, and of Namespaces that have the group's labels", BeyondScope: []string{"nodes", "persistentvolumes"}}},
		"Namespaces, under a narrow group": {[]change{installtest.AboutRequests(create, "", "namespaces")}, narrow, Interception{
			Text: "CREATE of Namespaces that have the group's labels"}},
		"Namespaces": {[]change{installtest.AboutRequests(create, "", "namespaces")}, everywhere, Interception{Text: "CREATE of Namespaces"}},
		"several": {[]change{installtest.AboutRequests(create, "apps", "deployments/scale"), two, installtest.OfObjects(metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}})}, narrow, Interception{
			Text: "CREATE of deployments.apps/scale in the namespaces of OperatorGroup group; " +
				"CREATE, UPDATE of orders.shop.example.com, orders.shop.example.com/status in the namespaces of OperatorGroup group, and everywhere if they are in no namespace; " +
				"only objects with the labels a=b"}},
		"what is nowhere": {[]change{installtest.AboutRequests(create, "", "nodes"), installtest.InScope(admissionregistrationv1.NamespacedScope)}, everywhere, Interception{Text: "CREATE of nothing"}},
		"conversion": {[]change{func(d *operatorsv1alpha1.WebhookDescription) {
			d.Type, d.ConversionCRDs = operatorsv1alpha1.ConversionWebhook, []string{"orders.shop.example.com"}
		}}, everywhere, Interception{Text: "reading and writing of orders.shop.example.com in another version than the stored one"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := guarded(installtest.ServedBy("manager", test.webhook...), test.group)
			if in.Scope.Namespaces == nil {
				in.Scope.Namespaces = []string{metav1.NamespaceAll}
			}
			in.exempted = exemptions.For(in.exemptionInput())
			installtest.Same(t, "interception", test.want, interceptionOf(in, in.CSV.Spec.WebhookDefinitions[0]))
		})
	}
}
