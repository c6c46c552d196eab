package rollout

import (
	"fmt"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A new scope is written to a registration when its Namespaces have their labels. Other fields of
// the registration are repaired meanwhile.
func TestScopeChangeOfRegisteredWebhook(t *testing.T) {
	const (
		validating = "apply ValidatingWebhookConfiguration v.manager.example.com: "
		mutating   = "apply MutatingWebhookConfiguration m.example.com: "
	)
	c := installed(t, webhookOf("manager"), webhookOf("manager", mutatingNamed("m.example.com")))
	for _, moment := range []struct {
		when    string
		happens func()
		want    []string
	}{
		{"a Namespace of the new scope has no label", func() {
			c.group.Spec.TargetNamespaces, c.Observed.UnlabelledNamespaces = []string{"red"}, []string{"red"}
		}, nil},
		{"another client changes both policies", func() {
			c.validating("manager").Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
			c.Observed.Mutating[0].Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
		}, []string{validating + `webhooks[name="v.manager.example.com"].failurePolicy`, mutating + `webhooks[name="m.example.com"].failurePolicy`}},
		{"every Namespace has its label", func() {
			c.Observed.UnlabelledNamespaces = nil
		}, []string{validating + `webhooks[name="v.manager.example.com"].namespaceSelector`, mutating + `webhooks[name="m.example.com"].namespaceSelector`}},
		{"nothing changes", func() {}, nil},
	} {
		c.wait(time.Second)
		moment.happens()
		installtest.Same(t, fmt.Sprintf("when %s, steps", moment.when), moment.want, stepsOf(c.reconcile()))
	}
}
