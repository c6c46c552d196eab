package integration

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// An operator that has lost a requirement is Pending, but its webhooks are called: they are repaired, and their
// certificates are renewed. Other changes wait until the requirement is met again.
func TestUpkeepWithoutARequirement(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	e.install(needs(csv("operator.v1", "server"), "account"))
	pending := func() {
		e.Helper()
		e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	}
	e.must(e.kube.CoreV1().ServiceAccounts(e.namespace).Delete(e.ctx, "account", metav1.DeleteOptions{}))
	pending()

	name, registrations := e.registration("v.example.com").Name, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	kube.Patch(e, registrations, name, types.JSONPatchType, []byte(`[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]`))
	e.eventually("the policy is as declared", func() (bool, any) {
		policy := e.registration("v.example.com").Webhooks[0].FailurePolicy
		return *policy == admissionregistrationv1.Fail, *policy
	})
	e.must(registrations.Delete(e.ctx, name, metav1.DeleteOptions{}))
	e.eventually("the registration is back", func() (bool, any) { return len(registered(e)) == 1, nil })
	before, trust := e.servingCA(), watchTrust(e)
	e.order("once")
	rotates(e, 2)
	trust.neverWithout(before, e.servingCA())
	pending()

	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		container(c).Image = "example.com/server:2"
		c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("second.example.com", "server"))
	})
	m.looksAgain("operator.v1")
	if image := e.deployment("server").Spec.Template.Spec.Containers[0].Image; image != "example.com/server:1" || len(registered(e)) != 1 {
		t.Errorf("the Deployment has %s, registered are %q: something was begun", image, webhooks(e))
	}
	quiet := auditEnd(e)
	m.looksAgain("operator.v1")
	m.writesNothing(quiet)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	e.succeeds("operator.v1")
	if len(registered(e)) != 2 {
		t.Errorf("registered are %q", webhooks(e))
	}
}
