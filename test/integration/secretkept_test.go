package integration

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// The CA of a certificate that a pod serves stays trusted, also if a client restores the Secret without annotations.
func TestSecretReplacedWithoutAnnotations(t *testing.T) {
	e := newOperatorEnv(t)
	p, m := runPod(e, graceOf(time.Hour))
	before := e.servingCA()
	e.order("once")
	e.rotationIs("", "0/1 new, 1 old, 0 unknown")
	trust := watchTrust(e)
	secret := certificate(e) // with the pair and its CA alone, as kubectl replace, a GitOps tool or a backup may write it
	maps.DeleteFunc(secret.Data, func(key string, _ []byte) bool {
		return key != corev1.TLSCertKey && key != corev1.TLSPrivateKeyKey && key != "ca.crt"
	})
	kube.Update(e, e.kube.CoreV1().Secrets(e.namespace), &corev1.Secret{ObjectMeta: named(secret.Name), Type: secret.Type, Data: secret.Data})
	e.eventually("the Secret lists again what pods may serve", func() (bool, any) {
		return bytes.Contains(certificate(e).Data["previous-ca.crt"], before), rotation(e)
	})
	m.looksAgain("operator.v1")
	mustTrust(e, before, e.servingCA())
	p.reload()
	e.eventually("the previous CA is not trusted any more", func() (bool, any) { return rotated(e), rotation(e) })
	trust.neverWithout(before, e.servingCA())
}

// A caBundle that an injector wrote with provider none stays trusted until pods serve the certificate in the Secret.
func TestChangeFromProviderNone(t *testing.T) {
	e := newOperatorEnv(t)
	p, _ := runPod(e, graceOf(time.Hour))
	first := e.servingCA()
	choose(e, managerv1alpha1.ProviderNone)
	e.eventually("only the administrator issues", func() (bool, any) { c := rotation(e); return c.Provider == managerv1alpha1.ProviderNone, c })

	own := servingCertificate(e).Leaf
	renewed := installtest.OrPanic(certs.Mint(certs.Request{Number: 1, Names: own.DNSNames, NotBefore: own.NotBefore, NotAfter: own.NotAfter}))
	injectBundle(e, slices.Concat(renewed.CA, first))
	kube.Update(e, e.kube.CoreV1().Secrets(e.namespace), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: servingSecret}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: renewed.Certificate, corev1.TLSPrivateKeyKey: renewed.Key, "ca.crt": renewed.CA},
	})

	trust := watchTrust(e)
	choose(e, managerv1alpha1.ProviderManager)
	e.rotationIs("", "0/1 new, 1 old, 0 unknown")
	mustTrust(e, first)
	p.reload()
	e.eventually("the previous CA is not trusted any more", func() (bool, any) {
		return !trusts(e, first) && trusts(e, e.servingCA()), rotation(e)
	})
	trust.neverWithout(first, renewed.CA)
}

func injectBundle(e *env, bundle []byte) {
	e.Helper()
	ours := metav1.ListOptions{LabelSelector: ofNamespace(e.namespace)}
	validating := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	mutating := e.kube.AdmissionregistrationV1().MutatingWebhookConfigurations()
	v := kube.List(e, validating, ours)
	m := kube.List(e, mutating, ours)
	for _, c := range v.Items {
		c.Webhooks[0].ClientConfig.CABundle = bundle
		kube.Update(e, validating, &c)
	}
	for _, c := range m.Items {
		c.Webhooks[0].ClientConfig.CABundle = bundle
		kube.Update(e, mutating, &c)
	}
}

// A Secret that a client made immutable is recreated with the same content and can be changed again.
func TestSecretBecomesImmutable(t *testing.T) {
	e := newOperatorEnv(t)
	p, m := runPod(e)
	before, trust := certificate(e), watchTrust(e)
	patchSecret(`{"immutable": true}`)(e)
	e.eventually("it can be changed again", func() (bool, any) {
		s, err := e.kube.CoreV1().Secrets(e.namespace).Get(e.ctx, servingSecret, metav1.GetOptions{})
		return err == nil && s.Immutable == nil && s.UID != before.UID, s
	})
	same(t, "the content of the Secret", certificate(e).Data, before.Data)
	m.looksAgain("operator.v1")
	e.order("once")
	e.eventually("pods are given another certificate", func() (bool, any) { return p.follow(), rotation(e) })
	rotates(e, 2)
	trust.neverWithout(before.Data["ca.crt"], e.servingCA())
}

// An admission policy that makes every Secret immutable does not cause endless writes, and rotations continue.
func TestEverySecretIsImmutable(t *testing.T) {
	e := operating(newEnv(t), allNamespaces) // alone: writes are counted for all ClusterServiceVersions
	freezeSecrets(e)
	p, m := runPod(e, graceOf(time.Hour))
	e.eventually("the Secret was recreated once", func() (bool, any) {
		s, err := e.kube.CoreV1().Secrets(e.namespace).Get(e.ctx, servingSecret, metav1.GetOptions{})
		return err == nil && s.Immutable != nil && s.Annotations[wellknown.AnnotationRecreatedFor] != "", err
	})
	m.rests()
	e.order("once")
	e.rotationIs("", "0/1 new, 1 old, 0 unknown")
	p.reload()
	rotates(e, 2)
	m.rests()
}

func freezeSecrets(e *env) {
	e.Helper()
	match := matching([]admissionregistrationv1.OperationType{admissionregistrationv1.Create}, []string{""}, "secrets")
	match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.namespace}}
	addMutatingPolicy(e, "immutable-"+e.namespace, admissionregistrationv1.MutatingAdmissionPolicySpec{MatchConstraints: match, Mutations: []admissionregistrationv1.Mutation{{
		PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
		ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: "Object{immutable: true}"},
	}}})
	e.eventually("Secrets are immutable", func() (bool, any) {
		s, err := e.kube.CoreV1().Secrets(e.namespace).Create(e.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && s.Immutable != nil && *s.Immutable, err
	})
}

// With OLM v0, an administrator writes an expired CA to the Secret and waits for the annotation
// olmcahash of the pod template. Other damage of a Secret does not change the annotation.
func TestExpiredCAInTheSecret(t *testing.T) {
	g := installtest.OrPanic(certs.Mint(certs.Request{Number: 1, Names: []string{"expired"}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(-time.Hour)}))
	expired := base64.StdEncoding.EncodeToString(g.CA)
	for name, test := range map[string]struct {
		patch    string
		replaced bool // the pods
	}{
		"as OLM's own tests do": {`{"metadata": {"annotations": null}, "data": {"olmCAKey": "` + expired + `"}}`, true},
		"under OLM's key":       {`{"data": {"olmCAKey": "` + expired + `"}}`, true},
		"where pods mount it":   {`{"data": {"ca.crt": "` + expired + `"}}`, true},
		"damaged pair":          {`{"data": {"tls.crt": "c3BvaWxlZA=="}}`, false},
		"the CA is removed":     {`{"data": {"ca.crt": null, "olmCAKey": null}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := newRunningOperator(t)
			before, trust, hash := e.servingCA(), watchTrust(e), templateHash(e)
			patchSecret(test.patch)(e)
			e.eventually("there is another certificate", func() (bool, any) {
				ca := e.servingCA()
				return len(ca) > 0 && !bytes.Equal(before, ca) && rotated(e), rotation(e)
			})
			sum := sha256.Sum256(e.servingCA())
			if want := hex.EncodeToString(sum[:]); test.replaced != (templateHash(e) == want) || test.replaced == (templateHash(e) == hash) {
				t.Errorf("olmcahash was %s and is %s; the CA's hash is %s", hash, templateHash(e), want)
			}
			if !strings.Contains(test.patch, "ca.crt") { // without ca.crt the Secret does not show which CA signed the certificate of the pods
				trust.neverWithout(before, e.servingCA())
			}
		})
	}
}

// An invalid certificate of an issuer is reported with the issuer in a condition, an event and a metric.
func TestRejectedCertificateIsReported(t *testing.T) {
	e := newOperatorEnv(t)
	ca := runServiceCA(e)
	m := e.manage()
	choose(e, managerv1alpha1.ProviderServiceCA)
	e.install(csv("operator.v1", "server"))
	provides(e, managerv1alpha1.ProviderServiceCA)
	served := certificate(e).Data

	issued := e.issued()
	key := installtest.OrPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	issued.Data = map[string][]byte{
		corev1.TLSCertKey:       ca.signer.signUntil(e, key.Public(), []string{"server-service." + e.namespace + ".svc"}, time.Now().Add(-time.Minute)),
		corev1.TLSPrivateKeyKey: keyPEM(e, key),
	}
	kube.Update(e, e.kube.CoreV1().Secrets(e.namespace), issued)

	says := "Secret " + e.namespace + "/" + issued.Name + ", issued by service-ca, cannot be served: the certificate expired at "
	e.eventually("a condition names it", func() (bool, any) {
		c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionCertificateRejected)
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == "Expired" && strings.HasPrefix(c.Message, says), e.rollout("operator.v1")
	})
	m.emits("Warning CertificateRejected " + says)
	e.eventually("a metric names it", func() (bool, any) {
		families, err := m.metrics.Gather()
		e.must(err)
		return rejectedIn(families, "service-ca", "Secret "+e.namespace+"/"+issued.Name, "Expired"), nil
	})
	same(t, "the content of the Secret", certificate(e).Data, served)
	ca.renew()
	provides(e, managerv1alpha1.ProviderServiceCA)
	e.eventually("nothing is rejected any more", func() (bool, any) {
		s := e.rollout("operator.v1")
		return meta.FindStatusCondition(s.Conditions, managerv1alpha1.ConditionCertificateRejected) == nil && rotation(e).Rejected == nil, s.Conditions
	})
}

func rejectedIn(families []*dto.MetricFamily, labels ...string) bool {
	for _, family := range families {
		if family.GetName() != "olm_webhook_manager_certificate_rejected" {
			continue
		}
		for _, metric := range family.GetMetric() {
			missing := slices.DeleteFunc(slices.Clone(labels), func(label string) bool {
				return slices.ContainsFunc(metric.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == label })
			})
			if len(missing) == 0 {
				return true
			}
		}
	}
	return false
}
