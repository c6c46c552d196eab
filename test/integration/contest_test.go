package integration

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// A controller that reverts a field for ever is named, and not fought: otherwise two
// controllers would keep an API server busy with nothing.
func TestContest(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.runDeployments()
	m := e.manage()
	e.install(csv("operator.v1", "server"))
	trust := e.registration("v.example.com").Webhooks[0].ClientConfig.CABundle
	since := e.auditEnd()
	e.adversary()
	e.eventually("the contest is named", func() (bool, any) {
		conditions := e.rollout("operator.v1").Conditions
		c := meta.FindStatusCondition(conditions, "Contested")
		return c != nil && strings.Contains(c.Message, `field manager "adversary"`) && strings.Contains(c.Message, "failurePolicy"), conditions
	})
	m.looksAgain("operator.v1")
	name := e.registration("v.example.com").Name
	repairs := slices.DeleteFunc(m.writes(since), func(w string) bool { return !strings.HasSuffix(w, name) })
	if len(repairs) > 4 {
		t.Errorf("repaired %d times:\n%s", len(repairs), strings.Join(repairs, "\n"))
	}
	if !bytes.Equal(e.registration("v.example.com").Webhooks[0].ClientConfig.CABundle, trust) {
		t.Error("the trust was changed")
	}
}

// While somebody holds a registration, no pod may come to serve what it does not trust.
func TestContestedTrust(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.runDeployments()
	m := e.manage()
	e.install(csv("operator.v1", "server"))
	e.adversary()
	e.eventually("the contest is named", func() (bool, any) {
		conditions := e.rollout("operator.v1").Conditions
		return meta.IsStatusConditionTrue(conditions, "Contested"), conditions
	})
	e.must(e.kube.CoreV1().Secrets(e.namespace).Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
	m.looksAgain("operator.v1")
	since := e.auditEnd()
	for range 3 {
		m.looksAgain("operator.v1")
		if ca := e.servingCA(); ca != nil && !e.trusts(ca) {
			t.Fatal("pods serve a certificate that the webhook does not trust")
		}
	}
	m.writesNothing(since)
}

// adversary sets the failurePolicy of every validating webhook of the test to Ignore,
// whenever somebody sets it to anything else.
func (e *env) adversary() {
	e.Helper()
	client := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	w, err := client.Watch(e.ctx, metav1.ListOptions{
		LabelSelector: "olm.owner.namespace=" + e.namespace, SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	e.must(err)
	e.Cleanup(w.Stop)
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": %q}]`, admissionv1.Ignore)
	go func() {
		for event := range w.ResultChan() {
			c, ok := event.Object.(*admissionv1.ValidatingWebhookConfiguration)
			if !ok || len(c.Webhooks) == 0 || *c.Webhooks[0].FailurePolicy == admissionv1.Ignore {
				continue
			}
			_, err := client.Patch(e.ctx, c.Name, types.JSONPatchType, []byte(patch), metav1.PatchOptions{FieldManager: "adversary"})
			if err != nil && e.ctx.Err() == nil && !apierrors.IsNotFound(err) {
				e.Errorf("the adversary: %v", err)
			}
		}
	}()
}
