package campaign

import (
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// occupation is how long the name of the Service is taken.
const occupation = 30 * time.Second

// label creates a webhook configuration of another client with the labels of the operator's.
func (o *operator) label() error {
	if !o.Labelled {
		return nil
	}
	_, err := o.neighbour.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(o.ctx, o.labelled(), metav1.CreateOptions{})
	return err
}

// occupy creates a Service of another client with the name that the operator needs, and deletes it later.
func (o *operator) occupy() error {
	if !o.Occupied {
		return nil
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: names.Service("manager")}}
	service.Spec.Ports = []corev1.ServicePort{{Port: 443}}
	services := o.neighbour.kube.CoreV1().Services(o.namespace())
	time.AfterFunc(occupation, func() {
		if err := services.Delete(o.ctx, service.Name, metav1.DeleteOptions{}); err != nil {
			o.problem("the Service of a neighbour: %v", err)
		}
	})
	_, err := services.Create(o.ctx, service, metav1.CreateOptions{})
	return err
}

// labelled calls a Service that is not the operator's.
func (o *operator) labelled() *admissionregistrationv1.ValidatingWebhookConfiguration {
	ignore, none := admissionregistrationv1.Ignore, admissionregistrationv1.SideEffectClassNone
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "labelled-" + o.namespace(), Labels: csvspec.OwnerLabels(o.csv(1))},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "labelled.example.com", FailurePolicy: &ignore, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: "elsewhere", Name: "service"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"example.com"}, APIVersions: []string{"v1"}, Resources: []string{"things"}},
			}},
		}},
	}
}
