package integration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// olmWriter is the field manager of olm-operator.
const olmWriter = "olm"

// installedByOLM leaves what olm-operator v0.46 leaves of an installed ClusterServiceVersion with webhooks at Deployment server.
func installedByOLM(e *env, c *operatorsv1alpha1.ClusterServiceVersion, order string) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	c.Annotations = labels.Merge(c.Annotations, labels.Set{
		wellknown.AnnotationOperatorGroup: "og", wellknown.AnnotationOperatorNamespace: e.namespace, wellknown.AnnotationTargetNamespaces: "",
	})
	c.Finalizers = []string{wellknown.FinalizerCSV}
	c.Labels = labels.Merge(c.Labels, labels.Set{wellknown.LabelTakeover: order})
	c = e.create(c)
	now := metav1.Now()
	c.SetPhase(operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVReasonInstallSuccessful, "install strategy completed with no errors", &now)
	c = installtest.OrPanic(e.olm.ClusterServiceVersions(e.namespace).UpdateStatus(e.ctx, c, metav1.UpdateOptions{FieldManager: olmWriter}))
	ca := secretOfOLM(e, c)
	createdByOLM(e, c, ca)
	return c
}

func createdByOLM(e *env, c *operatorsv1alpha1.ClusterServiceVersion, ca []byte) {
	e.Helper()
	by := metav1.CreateOptions{FieldManager: olmWriter}
	meta := csvspec.OwnedMeta(c, "server-service")
	meta.Labels = map[string]string{wellknown.LabelManaged: "true"}
	installtest.OrPanic(e.kube.CoreV1().Services(e.namespace).Create(e.ctx, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "server"}, Ports: []corev1.ServicePort{{Name: "443", Port: 443, TargetPort: intstr.FromInt(443)}},
	}}, by))
	meta.Name = servingSecret
	installtest.OrPanic(e.kube.RbacV1().Roles(e.namespace).Create(e.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{servingSecret}},
	}}, by))
	account := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: e.namespace}}
	installtest.OrPanic(e.kube.RbacV1().RoleBindings(e.namespace).Create(e.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: account, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: servingSecret},
	}, by))
	for _, spec := range csvspec.Deployments(c) {
		d := render.OLMDeployment(render.Input{CSV: c}, spec, takeover.BundleHash(ca))
		installtest.OrPanic(e.kube.AppsV1().Deployments(e.namespace).Create(e.ctx, d, by))
	}
	for _, description := range c.Spec.WebhookDefinitions {
		for _, name := range description.ConversionCRDs {
			convertedByOLM(e, name, description, ca)
		}
		if description.Type == operatorsv1alpha1.ConversionWebhook {
			continue
		}
		installtest.OrPanic(e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(e.ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{GenerateName: description.GenerateName + "-", Labels: labels.Merge(csvspec.OwnerLabels(c), labels.Set{
				wellknown.LabelWebhookGenerateName: description.GenerateName, wellknown.LabelWebhookHash: render.OLMHash(&description),
			})},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{description.GetValidatingWebhook(e.namespace, nil, ca)},
		}, by))
	}
}

func convertedByOLM(e *env, name string, description operatorsv1alpha1.WebhookDescription, ca []byte) {
	e.Helper()
	definitions := extensions(e).ApiextensionsV1().CustomResourceDefinitions()
	crd := kube.Get(e, definitions, name)
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: ca, Service: &apiextensionsv1.ServiceReference{
			Namespace: e.namespace, Name: "server-service", Path: description.WebhookPath, Port: &description.ContainerPort,
		}},
		ConversionReviewVersions: description.AdmissionReviewVersions,
	}}
	installtest.OrPanic(definitions.Update(e.ctx, crd, metav1.UpdateOptions{FieldManager: olmWriter}))
}

// registeredByOLM creates the APIService of a ClusterServiceVersion that olm-operator installed.
func (a *playedAPI) registeredByOLM(c *operatorsv1alpha1.ClusterServiceVersion) *apiregistrationv1.APIService {
	a.Helper()
	return installtest.OrPanic(a.apis.ApiregistrationV1().APIServices().Create(a.ctx, &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: a.name(), Labels: csvspec.OwnerLabels(c)},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: a.group, Version: "v1", GroupPriorityMinimum: 2000, VersionPriority: 15, CABundle: certificate(a.env).Data[wellknown.KeyOLMCA],
			Service: &apiregistrationv1.ServiceReference{Namespace: a.namespace, Name: a.service(), Port: new(int32(443))},
		},
	}, metav1.CreateOptions{FieldManager: olmWriter}))
}

// secretOfOLM creates the Secret of a serving certificate. Only olmCAKey has the CA.
func secretOfOLM(e *env, c *operatorsv1alpha1.ClusterServiceVersion) (ca []byte) {
	e.Helper()
	caKey, leafKey := newKey(e), newKey(e)
	signer := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "olm-selfsigned-4f1c", Organization: []string{"Red Hat, Inc."}},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(730 * 24 * time.Hour), IsCA: true, KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true,
	}
	server := *signer
	server.Subject.CommonName, server.IsCA, server.KeyUsage = "server-service", false, 0
	server.ExtKeyUsage, server.DNSNames = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, certs.DNSNames("server-service", e.namespace)
	server.SerialNumber = big.NewInt(signer.SerialNumber.Int64() + 1)
	encode := func(template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
		der := installtest.OrPanic(x509.CreateCertificate(rand.Reader, template, signer, &key.PublicKey, caKey))
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	ca = encode(signer, caKey)
	meta := csvspec.OwnedMeta(c, servingSecret)
	meta.Labels = map[string]string{wellknown.LabelManaged: "true"}
	meta.Annotations = map[string]string{wellknown.AnnotationCAHash: takeover.BundleHash(ca)}
	private := installtest.OrPanic(x509.MarshalECPrivateKey(leafKey))
	installtest.OrPanic(e.kube.CoreV1().Secrets(e.namespace).Create(e.ctx, &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		wellknown.KeyOLMCA: ca, corev1.TLSCertKey: encode(&server, leafKey), corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}}, metav1.CreateOptions{FieldManager: olmWriter}))
	return ca
}

func newKey(e *env) *ecdsa.PrivateKey {
	e.Helper()
	return installtest.OrPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
}

// acceptedByOLM fails if olm-operator would install a ClusterServiceVersion again: it checks what olm-operator v0.46 checks of
// a succeeded version (CheckInstalled, ShouldRotateCerts, areWebhooksAvailable).
func acceptedByOLM(e *env, name string) {
	e.Helper()
	c, secret := e.get(name), certificate(e)
	first := func(key string) *x509.Certificate {
		block, _ := pem.Decode(secret.Data[key])
		if block == nil {
			e.Fatalf("the Secret has no certificate under %s", key)
		}
		return installtest.OrPanic(x509.ParseCertificate(block.Bytes))
	}
	roots := x509.NewCertPool()
	roots.AddCert(first(wellknown.KeyOLMCA))
	for _, host := range certs.DNSNames("server-service", e.namespace) {
		if _, err := first(corev1.TLSCertKey).Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
			e.Errorf("olm-operator rotates: %v", err)
		}
	}
	bundle := e.registration("v.example.com").Webhooks[0].ClientConfig.CABundle
	same(e.T, "the hash of the CA in the Secret", secret.Annotations[wellknown.AnnotationCAHash], takeover.BundleHash(bundle))
	for _, spec := range csvspec.Deployments(c) {
		live := e.deployment(spec.Name)
		for key, value := range c.Annotations {
			same(e.T, "annotation "+key+" of the pods of "+spec.Name, live.Spec.Template.Annotations[key], value)
		}
		want := render.OLMDeployment(render.Input{CSV: c}, spec, takeover.BundleHash(bundle)).Labels
		for key, value := range want {
			same(e.T, "label "+key+" of "+spec.Name, live.Labels[key], value)
		}
	}
	for _, description := range c.Spec.WebhookDefinitions {
		if description.Type == operatorsv1alpha1.ConversionWebhook {
			continue
		}
		selector := labels.Merge(csvspec.OwnerLabels(c), labels.Set{
			wellknown.LabelWebhookGenerateName: description.GenerateName, wellknown.LabelWebhookHash: render.OLMHash(&description),
		}).String()
		found := kube.List(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), metav1.ListOptions{LabelSelector: selector}).Items
		same(e.T, "registrations of "+description.GenerateName, len(found), 1)
	}
}
