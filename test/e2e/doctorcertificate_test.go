package e2e

import (
	"context"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// doctor reads the certificate that the pods of an unmanaged webhook serve, as kubectl port-forward reaches them. It
// reports an error once the caBundle is that of another CA.
func TestDoctorReportsAnotherCertificate(t *testing.T) {
	e := newBareEnv(t)
	term := &terminal{env: e}
	served, other := mint(e, "stranger"), mint(e, "stranger")
	storeCertificate(e, served)
	strangersServer(e)
	e.rolledOut("stranger")
	e.eventually("its Service has two ready endpoints", func() (bool, any) {
		slices := kube.List(e, kubeClient.DiscoveryV1().EndpointSlices(e.namespace), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=stranger"})
		ready := 0
		for _, slice := range slices.Items {
			ready += installtest.Count(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, false) })
		}
		return ready == 2, ready
	})
	registered := strangersWebhook(e, served.CA)
	if said := term.works("", "doctor"); strings.Contains(said, e.namespace) {
		t.Errorf("nothing is wrong with it, and doctor reports\n%s", said)
	}
	if said := term.works("", "doctor", "-o", "json"); !strings.Contains(said, `"dialled"`) || strings.Contains(said, `"ready": 0`) {
		t.Errorf("the result does not report the number of endpoints that it was made from:\n%s", said)
	}

	registered.Webhooks[0].ClientConfig.CABundle = other.CA
	kube.Update(e, kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations(), registered)
	term.fails(2, []string{
		"ERROR ForeignCertificate\n  ValidatingWebhookConfiguration " + e.namespace + ": webhook things.stranger.example.com",
		"pod " + e.namespace + "/stranger-",
	}, "doctor")
}

// strangersServer is a Deployment that serves what is stored in the Namespace, behind a Service.
func strangersServer(e *env) {
	e.Helper()
	labels, deployment := map[string]string{"app": "stranger"}, server("stranger")
	pod := &deployment.Spec.Template.Spec
	pod.Volumes = []corev1.Volume{{Name: "certificate", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: hookCertificate}}}}
	pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "certificate", MountPath: wellknown.MountWebhookCert}}
	kube.Create(e, kubeClient.AppsV1().Deployments(e.namespace), &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}, Spec: deployment.Spec})
	kube.Create(e, kubeClient.CoreV1().Services(e.namespace), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "stranger"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt32(9443)}}},
	})
}

// strangersWebhook registers it by hand, for a resource that there is not.
func strangersWebhook(e *env, ca []byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
	e.Helper()
	none, client := admissionregistrationv1.SideEffectClassNone, kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	registered := kube.Create(e, client, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "things.stranger.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: e.namespace, Name: "stranger"}, CABundle: ca},
			Rules:        []admissionregistrationv1.RuleWithOperations{installtest.RuleOf([]string{"nowhere.example.com"}, []string{"things"})},
		}},
	})
	after := context.WithoutCancel(e.ctx)
	e.Cleanup(func() { e.must(client.Delete(after, registered.Name, metav1.DeleteOptions{})) })
	return registered
}
