package integration

import (
	"crypto/x509"
	"encoding/pem"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// acceptedByOLM fails if olm-operator would install a ClusterServiceVersion again: it checks what olm-operator v0.46 checks of
// a succeeded version (CheckInstalled, ShouldRotateCerts, areWebhooksAvailable).
func acceptedByOLM(e *env, name string) {
	e.Helper()
	c := e.get(name)
	same(e.T, "the phase of "+name, c.Status.Phase, operatorsv1alpha1.CSVPhaseSucceeded)
	trusted := map[string]string{}
	for _, spec := range csvspec.Deployments(c) {
		caHash := ""
		if len(csvspec.Descriptions(c, spec.Name)) > 0 {
			trusted[spec.Name] = certificateAcceptedByOLM(e, spec.Name)
			caHash = takeover.BundleHash([]byte(trusted[spec.Name]))
		}
		live := e.deployment(spec.Name)
		for key, value := range c.Annotations {
			same(e.T, "annotation "+key+" of the pods of "+spec.Name, live.Spec.Template.Annotations[key], value)
		}
		for key, value := range render.OLMDeployment(render.Input{CSV: c}, spec, caHash).Labels {
			same(e.T, "label "+key+" of "+spec.Name, live.Labels[key], value)
		}
	}
	for i := range c.Spec.WebhookDefinitions {
		d := &c.Spec.WebhookDefinitions[i]
		if d.Type != operatorsv1alpha1.ConversionWebhook {
			same(e.T, "caBundles of the registrations of "+d.GenerateName, bundlesOf(e, c, d), []string{trusted[d.DeploymentName]})
		}
	}
}

// certificateAcceptedByOLM checks the Secret of a Deployment, and returns its CA.
func certificateAcceptedByOLM(e *env, deployment string) (ca string) {
	e.Helper()
	service := names.Service(deployment)
	secret := kube.Get(e, e.kube.CoreV1().Secrets(e.namespace), names.Secret(service))
	first := func(key string) *x509.Certificate {
		block, _ := pem.Decode(secret.Data[key])
		if block == nil {
			e.Fatalf("Secret %s has no certificate under %s", secret.Name, key)
		}
		return installtest.OrPanic(x509.ParseCertificate(block.Bytes))
	}
	roots := x509.NewCertPool()
	roots.AddCert(first(wellknown.KeyOLMCA))
	for _, host := range certs.DNSNames(service, e.namespace) {
		if _, err := first(corev1.TLSCertKey).Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
			e.Errorf("olm-operator rotates: %v", err)
		}
	}
	same(e.T, "the hash of the CA in Secret "+secret.Name, secret.Annotations[wellknown.AnnotationCAHash], takeover.BundleHash(secret.Data[wellknown.KeyOLMCA]))
	return string(secret.Data[wellknown.KeyOLMCA])
}

// bundlesOf returns the caBundles of the registrations that olm-operator finds for a webhook.
func bundlesOf(e *env, c *operatorsv1alpha1.ClusterServiceVersion, d *operatorsv1alpha1.WebhookDescription) (bundles []string) {
	e.Helper()
	found := metav1.ListOptions{LabelSelector: labels.Merge(csvspec.OwnerLabels(c), labels.Set{
		wellknown.LabelWebhookGenerateName: d.GenerateName, wellknown.LabelWebhookHash: render.OLMHash(d),
	}).String()}
	for _, r := range kube.List(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), found).Items {
		bundles = append(bundles, string(r.Webhooks[0].ClientConfig.CABundle))
	}
	for _, r := range kube.List(e, e.kube.AdmissionregistrationV1().MutatingWebhookConfigurations(), found).Items {
		bundles = append(bundles, string(r.Webhooks[0].ClientConfig.CABundle))
	}
	return bundles
}
