package e2e

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func (e *env) webhookIs(csv string, state managerv1alpha1.WebhookState, reason string) managerv1alpha1.WebhookStatus {
	e.Helper()
	var webhook managerv1alpha1.WebhookStatus
	e.eventually(fmt.Sprintf("the webhook of %s is %s/%s", csv, state, reason), func() (bool, any) {
		rollout, err := olmClient.WebhookRollouts(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, err
		}
		e.must(err)
		for _, d := range rollout.Status.Deployments {
			for _, w := range d.Webhooks {
				webhook = w
			}
		}
		return webhook.State == state && webhook.Reason == reason, webhook
	})
	return webhook
}

func warned(e *env, csv, reason string) {
	e.Helper()
	e.eventually(fmt.Sprintf("there is a warning %s about %s", reason, csv), func() (bool, any) {
		events := kube.List(e, kubeClient.CoreV1().Events(e.namespace), metav1.ListOptions{})
		return slices.ContainsFunc(events.Items, func(event corev1.Event) bool {
			return event.InvolvedObject.Name == csv && event.Reason == reason && event.Type == corev1.EventTypeWarning
		}), fmt.Sprintf("%d events", len(events.Items))
	})
}

func (e *env) registration() admissionregistrationv1.ValidatingWebhookConfiguration {
	e.Helper()
	list := kube.List(e, kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations(), e.ours())
	if len(list.Items) != 1 {
		e.Fatalf("there are %d registrations for namespace %s, want 1", len(list.Items), e.namespace)
	}
	return list.Items[0]
}

func (e *env) registrations() []string {
	e.Helper()
	var names []string
	withCanaries := metav1.ListOptions{LabelSelector: wellknown.LabelOwnerNamespace + "=" + e.namespace}
	for _, c := range kube.List(e, kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations(), withCanaries).Items {
		names = append(names, c.Name)
	}
	for _, c := range kube.List(e, kubeClient.AdmissionregistrationV1().MutatingWebhookConfigurations(), withCanaries).Items {
		names = append(names, c.Name)
	}
	return names
}

// ours selects the cluster-scoped objects that were created for the Namespace, without the canaries and markers that the
// manager deletes again.
func (e *env) ours() metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: wellknown.LabelOwnerNamespace + "=" + e.namespace + ",!" + wellknown.LabelCanary}
}

// registrationWatch begins with a test, so that a registration that is created and deleted again is observed too.
type registrationWatch struct {
	*env
	watches []watch.Interface
}

func watchRegistrations(e *env) registrationWatch {
	e.Helper()
	validating := kube.Watch(e, kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations(), e.ours())
	mutating := kube.Watch(e, kubeClient.AdmissionregistrationV1().MutatingWebhookConfigurations(), e.ours())
	return registrationWatch{e, []watch.Interface{validating, mutating}}
}

// none fails when there was one at any time.
func (r registrationWatch) none() {
	r.Helper()
	for _, w := range r.watches {
		select {
		case event, open := <-w.ResultChan():
			r.Errorf("something was registered, or the watch ended (open: %t): %s %v", open, event.Type, event.Object)
		default:
		}
	}
	installtest.None(r, "registered", r.registrations())
}
