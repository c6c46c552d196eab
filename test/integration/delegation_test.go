package integration

import (
	"bytes"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const injectFrom = "cert-manager.io/inject-ca-from"

// A first registration under the provider none calls no endpoint until the administrator's
// own tools have issued a certificate and injected its CA.
func TestDelegation(t *testing.T) {
	e := newOperatorEnv(t)
	e.certManager()
	choose(e, managerv1alpha1.ProviderNone, injectFrom, e.namespace+"/own")
	m := e.manage()
	e.create(csv("operator.v1", "server"))
	e.eventually("it waits for a caBundle", func() (bool, any) {
		w := webhookStatus(e, "operator.v1", "v.example.com")
		return w.State == "Waiting" && w.Reason == "CABundleNotInjected" && len(registered(e)) == 1, w
	})
	none(t, "rules that are called already", e.registration("v.example.com").Webhooks[0].Rules)
	e.says("Secret " + e.namespace + "/server-service-cert holds no certificate")
	signingCA(e, "internal-ca", 1)
	issuer(e, "internal", map[string]any{"ca": map[string]any{"secretName": "internal-ca"}})
	ownCertificate(e, "own")
	e.succeeds("operator.v1")
	w := e.registration("v.example.com")
	if len(w.Webhooks[0].Rules) != 1 || !bytes.Equal(w.Webhooks[0].ClientConfig.CABundle, e.servingCA()) {
		t.Errorf("it is registered as %+v", w.Webhooks[0])
	}
	service := kube.Get(e, e.kube.CoreV1().Services(e.namespace), "server-service")
	for name, annotations := range map[string]map[string]string{"registration": w.Annotations, "Service": service.Annotations, "Deployment": e.deployment("server").Annotations} {
		if annotations[injectFrom] != e.namespace+"/own" || annotations[wellknown.AnnotationCertificateProvider] != "" {
			t.Errorf("the %s is annotated %v", name, annotations)
		}
	}
	m.settles("operator.v1")
	e.uninstall("operator.v1")
}

// A live webhook is delegated to the administrator's tools and back, and always trusts what its pods may serve.
func TestHandover(t *testing.T) {
	e := newOperatorEnv(t)
	e.certManager()
	runOperator(e)
	first, bundles := e.servingCA(), watchTrust(e)
	signingCA(e, "internal-ca", 1)
	issuer(e, "internal", map[string]any{"ca": map[string]any{"secretName": "internal-ca"}})
	choose(e, managerv1alpha1.ProviderCertManager, wellknown.AnnotationCertManagerIssuer, "Issuer/internal")
	provides(e, managerv1alpha1.ProviderCertManager)
	carried := servingCertificate(e).Leaf

	choose(e, managerv1alpha1.ProviderNone, injectFrom, e.namespace+"/own")
	e.eventually("the administrator's annotations are set", func() (bool, any) {
		annotations := e.registration("v.example.com").Annotations
		return annotations[injectFrom] != "" && e.rollout("operator.v1").Provider == managerv1alpha1.ProviderNone, annotations
	})
	ownCertificate(e, "own")
	e.eventually("the administrator's certificate is served", func() (bool, any) {
		return e.servingCA() != nil && !servingCertificate(e).Leaf.Equal(carried), nil
	})
	e.succeeds("operator.v1")

	choose(e, managerv1alpha1.ProviderManager)
	e.says("Certificate " + e.namespace + "/own issues into Secret server-service-cert")
	e.must(e.any.Resource(issuers.Certificates).Namespace(e.namespace).Delete(e.ctx, "own", metav1.DeleteOptions{}))
	touch(e, "operator.v1")
	provides(e, managerv1alpha1.ProviderManager)
	same(t, "the annotation of the registration", e.registration("v.example.com").Annotations[injectFrom], "")
	bundles.neverWithout(first, e.servingCA())
}

// Pods mount the CA next to the certificate, and do not start without it: an issuer that leaves it out is named.
func TestDelegatedSecretHasNoCA(t *testing.T) {
	e := newOperatorEnv(t)
	choose(e, managerv1alpha1.ProviderNone)
	e.manage()
	e.create(csv("operator.v1", "server"))
	e.says("Secret " + e.namespace + "/server-service-cert holds no certificate")
	minted, err := certs.Mint(certs.Request{Number: 1, Names: certs.DNSNames("server-service", e.namespace), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)})
	e.must(err)
	issued := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: servingSecret}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: minted.Certificate, corev1.TLSPrivateKeyKey: minted.Key},
	}
	store(e, issued)
	touch(e, "operator.v1") // the Secret has no label by which the caches would see it
	e.says("Secret " + e.namespace + "/server-service-cert has no ca.crt, so new pods cannot mount it")
	e.says("kubectl -n " + e.namespace + " patch secret server-service-cert")
	issued.Data[wellknown.KeyCA] = minted.CA
	store(e, issued)
	touch(e, "operator.v1")
	e.eventually("nothing is wrong with it any more", func() (bool, any) {
		return rotation(e).Message == "" && rotation(e).CAFingerprint != "", rotation(e)
	})
}

// ownCertificate is one that the administrator orders, into the Secret that pods mount.
func ownCertificate(e *env, name string) {
	e.Helper()
	declare(e, issuers.Certificates, "Certificate", name, map[string]any{
		"secretName": servingSecret, "dnsNames": []any{"server-service." + e.namespace + ".svc"},
		"issuerRef": map[string]any{"kind": "Issuer", "name": "internal"},
	})
}
