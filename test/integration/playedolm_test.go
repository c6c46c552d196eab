package integration

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
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

// installedByOLM leaves what olm-operator v0.46 leaves of an installed ClusterServiceVersion, in the group og. The bindings
// for authentication are missing (see delegatedByOLM): their names are those of other tests, too.
func installedByOLM(e *env, c *operatorsv1alpha1.ClusterServiceVersion, order string) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	group := kube.Get(e, e.olm.OperatorGroups(e.namespace), "og")
	c.Annotations = labels.Merge(c.Annotations, labels.Set{
		wellknown.AnnotationOperatorGroup: "og", wellknown.AnnotationOperatorNamespace: e.namespace, wellknown.AnnotationTargetNamespaces: strings.Join(group.Spec.TargetNamespaces, ","),
	})
	c.Finalizers = []string{wellknown.FinalizerCSV}
	if order != "" {
		c.Labels = labels.Merge(c.Labels, labels.Set{wellknown.LabelTakeover: order})
	}
	c = e.create(c)
	now := metav1.Now()
	c.SetPhase(operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVReasonInstallSuccessful, "install strategy completed with no errors", &now)
	c = installtest.OrPanic(e.olm.ClusterServiceVersions(e.namespace).UpdateStatus(e.ctx, c, metav1.UpdateOptions{FieldManager: olmWriter}))
	ca := newCAOfOLM(e)
	for _, spec := range csvspec.Deployments(c) {
		if len(csvspec.Descriptions(c, spec.Name)) > 0 {
			servedByOLM(e, c, spec, ca)
		}
		d := render.OLMDeployment(render.Input{CSV: c}, spec, takeover.BundleHash(ca.bundle))
		installtest.OrPanic(e.kube.AppsV1().Deployments(e.namespace).Create(e.ctx, d, byOLM))
	}
	selector := installtest.OrPanic(group.NamespaceLabelSelector())
	for i := range c.Spec.WebhookDefinitions {
		registeredByOLM(e, c, &c.Spec.WebhookDefinitions[i], selector, ca.bundle)
	}
	return c
}

var byOLM = metav1.CreateOptions{FieldManager: olmWriter}

// servedByOLM creates what a Deployment needs to serve.
func servedByOLM(e *env, c *operatorsv1alpha1.ClusterServiceVersion, spec operatorsv1alpha1.StrategyDeploymentSpec, ca caOfOLM) {
	e.Helper()
	service := names.Service(spec.Name)
	meta := csvspec.OwnedMeta(c, service)
	meta.Labels = map[string]string{wellknown.LabelManaged: "true"}
	var ports []corev1.ServicePort
	for _, d := range csvspec.Descriptions(c, spec.Name) {
		port := cmp.Or(d.ContainerPort, csvspec.DefaultPort)
		target := intstr.FromInt32(port)
		if d.TargetPort != nil {
			target = *d.TargetPort
		}
		ports = append(ports, corev1.ServicePort{Name: strconv.Itoa(int(port)), Port: port, TargetPort: target})
	}
	installtest.OrPanic(e.kube.CoreV1().Services(e.namespace).Create(e.ctx, &corev1.Service{
		ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: spec.Spec.Selector.MatchLabels, Ports: lists.Distinct(ports)},
	}, byOLM))
	ca.signs(e, c, service)
	meta.Name = names.Secret(service)
	installtest.OrPanic(e.kube.RbacV1().Roles(e.namespace).Create(e.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{meta.Name}},
	}}, byOLM))
	installtest.OrPanic(e.kube.RbacV1().RoleBindings(e.namespace).Create(e.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: accountOf(e, spec), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
	}, byOLM))
}

func accountOf(e *env, spec operatorsv1alpha1.StrategyDeploymentSpec) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: csvspec.ServiceAccountOf(spec.Spec.Template.Spec), Namespace: e.namespace}}
}

// registeredByOLM creates the registration of a webhook. Its name is generated.
func registeredByOLM(e *env, c *operatorsv1alpha1.ClusterServiceVersion, d *operatorsv1alpha1.WebhookDescription, selector *metav1.LabelSelector, ca []byte) {
	e.Helper()
	meta := metav1.ObjectMeta{GenerateName: d.GenerateName + "-", Labels: labels.Merge(csvspec.OwnerLabels(c), labels.Set{
		wellknown.LabelManaged: "true", wellknown.LabelWebhookGenerateName: d.GenerateName, wellknown.LabelWebhookHash: render.OLMHash(d),
	})}
	client := e.kube.AdmissionregistrationV1()
	switch d.Type {
	case operatorsv1alpha1.ValidatingAdmissionWebhook:
		installtest.OrPanic(client.ValidatingWebhookConfigurations().Create(e.ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: meta, Webhooks: []admissionregistrationv1.ValidatingWebhook{d.GetValidatingWebhook(e.namespace, selector, ca)},
		}, byOLM))
	case operatorsv1alpha1.MutatingAdmissionWebhook:
		installtest.OrPanic(client.MutatingWebhookConfigurations().Create(e.ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: meta, Webhooks: []admissionregistrationv1.MutatingWebhook{d.GetMutatingWebhook(e.namespace, selector, ca)},
		}, byOLM))
	case operatorsv1alpha1.ConversionWebhook:
		for _, name := range d.ConversionCRDs {
			convertedByOLM(e, name, d, ca)
		}
	}
}

func convertedByOLM(e *env, name string, d *operatorsv1alpha1.WebhookDescription, ca []byte) {
	e.Helper()
	definitions := extensions(e).ApiextensionsV1().CustomResourceDefinitions()
	path := "/"
	if d.WebhookPath != nil {
		path = *d.WebhookPath
	}
	e.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		crd := kube.Get(e, definitions, name)
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: ca, Service: &apiextensionsv1.ServiceReference{
				Namespace: e.namespace, Name: names.Service(d.DeploymentName), Path: &path, Port: &d.ContainerPort,
			}},
			ConversionReviewVersions: d.AdmissionReviewVersions,
		}}
		_, err := definitions.Update(e.ctx, crd, metav1.UpdateOptions{FieldManager: olmWriter})
		return err
	}))
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
	}, byOLM))
}

// caOfOLM is the CA of one installation. Its private key is stored nowhere.
type caOfOLM struct {
	signer *x509.Certificate
	key    *ecdsa.PrivateKey
	bundle []byte
}

func newCAOfOLM(e *env) caOfOLM {
	e.Helper()
	ca := caOfOLM{key: newKey(e), signer: &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "olm-selfsigned-4f1c", Organization: []string{"Red Hat, Inc."}},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(730 * 24 * time.Hour), IsCA: true, KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true,
	}}
	ca.bundle = ca.encode(ca.signer, ca.key)
	return ca
}

func (ca caOfOLM) encode(template *x509.Certificate, key *ecdsa.PrivateKey) []byte {
	der := installtest.OrPanic(x509.CreateCertificate(rand.Reader, template, ca.signer, &key.PublicKey, ca.key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// signs creates the Secret of a serving certificate. Only olmCAKey has the CA.
func (ca caOfOLM) signs(e *env, c *operatorsv1alpha1.ClusterServiceVersion, service string) {
	e.Helper()
	server, key := *ca.signer, newKey(e)
	server.Subject.CommonName, server.IsCA, server.KeyUsage = service, false, 0
	server.ExtKeyUsage, server.DNSNames = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, certs.DNSNames(service, e.namespace)
	server.SerialNumber = big.NewInt(time.Now().UnixNano())
	meta := csvspec.OwnedMeta(c, names.Secret(service))
	meta.Labels = map[string]string{wellknown.LabelManaged: "true"}
	meta.Annotations = map[string]string{wellknown.AnnotationCAHash: takeover.BundleHash(ca.bundle)}
	private := installtest.OrPanic(x509.MarshalECPrivateKey(key))
	installtest.OrPanic(e.kube.CoreV1().Secrets(e.namespace).Create(e.ctx, &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		wellknown.KeyOLMCA: ca.bundle, corev1.TLSCertKey: ca.encode(&server, key), corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}),
	}}, byOLM))
}

func newKey(e *env) *ecdsa.PrivateKey {
	e.Helper()
	return installtest.OrPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
}
