package integration

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A registration that a client takes the labels off is called as before: the settle time
// counts for it, too, and pods are given no certificate that it may not trust yet.
func TestRotationWithAnUnlabelledRegistration(t *testing.T) {
	e := newOperatorEnv(t)
	runOperator(e, func(o *controller.Options) { o.Certificates.Settle = time.Hour })
	before := e.servingCA()
	e.order("once")
	e.rotationIs(managerv1alpha1.CertificateDistributing, "", "API servers are given time")
	registration := e.registration("v.example.com")
	stripped := map[string]any{}
	for label := range registration.Labels {
		stripped[label] = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": stripped}})
	e.must(err)
	_, err = e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(e.ctx, registration.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "somebody"})
	e.must(err)
	becomes(e, "the labels are back", func() int { return len(registered(e)) }, 1)
	same(t, "the CA that pods are given before the settle time is over", string(e.servingCA()), string(before))
}

// A client records a registration of another owner in the status of a WebhookRollout. The manager reads it for the next
// rotation, and neither changes nor deletes it. A path that is not served makes each reconciliation decide twice, so
// that the second decision knows what the first one read.
func TestRotationWithAForgedRecord(t *testing.T) {
	e := newOperatorEnv(t)
	listener := listen(e)
	m := e.manage(routed(listener))
	c := csv("operator.v1", "server")
	onPodTemplates(c)
	notServed := webhook("w.example.com", "server")
	notServed.WebhookPath = new("/wrong")
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, notServed)
	e.create(c)
	e.eventually("there is a certificate to serve", func() (bool, any) { return e.deployment("server") != nil, nil })
	answer(e, listener, servingCertificate(e), permitAtValidate)
	endpoint(e, listener)
	e.eventually("one webhook is registered, and the path of the other one is not served", func() (bool, any) {
		served, other := webhookStatus(e, "operator.v1", "v.example.com"), webhookStatus(e, "operator.v1", "w.example.com")
		return served.State == managerv1alpha1.WebhookRegistered && other.Reason == "PathNotServed", other
	})
	m.stop()
	other := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: named(e.namespace + "-of-another-owner"),
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "v.example.com", SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "nowhere", Name: "server-service"}},
		}},
	}
	configurations := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	before := kube.Create(e, configurations, other)
	e.Cleanup(func() { _ = configurations.Delete(context.Background(), before.Name, metav1.DeleteOptions{}) })

	rollouts := e.olm.WebhookRollouts(e.namespace)
	forged := kube.Get(e, rollouts, "operator.v1")
	forged.Status.Created = append(forged.Status.Created, managerv1alpha1.CreatedObject{Kind: "ValidatingWebhookConfiguration", Name: before.Name, UID: before.UID})
	recorded := &forged.Status.Deployments[0]
	recorded.Webhooks = append(recorded.Webhooks, managerv1alpha1.WebhookStatus{
		Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "forged.example.com", Configuration: before.Name, State: managerv1alpha1.WebhookRegistered,
	})
	kube.UpdateStatus(e, rollouts, forged)
	e.order("once")
	again := e.manage(routed(listener))
	becomes(e, "pods are given the next certificate", func() int64 { return rotation(e).Generation }, 2)
	again.looksAgain("operator.v1")
	after, err := configurations.Get(e.ctx, before.Name, metav1.GetOptions{})
	if err != nil || after.UID != before.UID || after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the registration of another owner was changed or deleted: %v, %+v", err, after.ObjectMeta)
	}
}

// A Service that a client edits leads to no pod that could be asked: that proves nothing of the
// pods that are called once it is repaired, and what they serve stays trusted.
func TestEvidenceBehindAnEditedService(t *testing.T) {
	for name, edit := range map[string]func(*corev1.ServiceSpec){
		"another selector":               func(s *corev1.ServiceSpec) { s.Selector = map[string]string{"app": "server", "track": "blue"} },
		"no selector":                    func(s *corev1.ServiceSpec) { s.Selector = nil },
		"a port that no container names": func(s *corev1.ServiceSpec) { s.Ports[0].TargetPort = intstr.FromString("webhok") },
		"another selector, and another port": func(s *corev1.ServiceSpec) {
			s.Selector, s.Ports[0].TargetPort = map[string]string{"app": "x"}, intstr.FromInt32(9)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			p, m := runPod(e, graceOf(time.Hour))
			before, trust := e.servingCA(), watchTrust(e)
			e.order("once")
			waits := func() (bool, any) {
				c := rotation(e)
				return c.Phase == managerv1alpha1.CertificatePromoting && strings.Contains(c.Message, "server-0 serves another certificate"), c
			}
			e.eventually("the pod is observed to serve the previous certificate", waits)

			services := e.kube.CoreV1().Services(e.namespace)
			service := kube.Get(e, services, "server-service")
			selector := service.Spec.Selector
			edit(&service.Spec)
			edited, err := services.Update(e.ctx, service, metav1.UpdateOptions{FieldManager: "administrator"})
			e.must(err)
			e.eventually("the Service is repaired", func() (bool, any) {
				live := kube.Get(e, services, "server-service")
				return live.ResourceVersion != edited.ResourceVersion && live.Spec.Selector["app"] == selector["app"] && len(live.Spec.Selector) == len(selector) &&
					live.Spec.Ports[0].TargetPort.IntValue() == p.port(), live.Spec
			})
			m.looksAgain("operator.v1")
			if ok, seen := waits(); !ok {
				t.Errorf("it does not wait for the pod any longer: %+v", seen)
			}
			mustTrust(e, before, e.servingCA())
			p.reload()
			rotates(e, 2)
			trust.neverWithout(before, e.servingCA())
		})
	}
}
