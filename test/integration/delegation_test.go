package integration

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
)

const injectFrom = "cert-manager.io/inject-ca-from"

// A first registration under the provider none calls nobody until the administrator's
// own tools have issued a certificate and injected its CA.
func TestDelegation(t *testing.T) {
	e := newParallelEnv(t)
	e.certManager()
	e.group("og", allNamespaces)
	e.runDeployments()
	m := e.manage()
	e.choose(managerv1alpha1.ProviderNone, injectFrom, e.namespace+"/own")
	e.create(csv("operator.v1", "server"))
	e.eventually("it waits for a caBundle", func() (bool, any) {
		w := e.webhookStatus("operator.v1", "v.example.com")
		return w.State == "Waiting" && w.Reason == "CABundleNotInjected" && len(e.registered()) == 1, w
	})
	if rules := e.registration("v.example.com").Webhooks[0].Rules; len(rules) != 0 {
		t.Errorf("it is called already: %+v", rules)
	}
	e.says("Secret " + e.namespace + "/server-service-cert holds no certificate")
	e.signingCA("internal-ca", 1)
	e.issuer("internal", map[string]any{"ca": map[string]any{"secretName": "internal-ca"}})
	e.ownCertificate("own")
	e.succeeds("operator.v1")
	w := e.registration("v.example.com")
	if len(w.Webhooks[0].Rules) != 1 || !bytes.Equal(w.Webhooks[0].ClientConfig.CABundle, e.servingCA()) {
		t.Errorf("it is registered as %+v", w.Webhooks[0])
	}
	service, err := e.kube.CoreV1().Services(e.namespace).Get(e.ctx, "server-service", metav1.GetOptions{})
	e.must(err)
	for name, annotations := range map[string]map[string]string{"registration": w.Annotations, "Service": service.Annotations} {
		if annotations[injectFrom] != e.namespace+"/own" || annotations[vocabulary.AnnotationCertificates] != "" {
			t.Errorf("the %s is annotated %v", name, annotations)
		}
	}
	m.looksAgain("operator.v1")
	since := e.auditEnd()
	m.looksAgain("operator.v1")
	m.writesNothing(since)
	e.uninstall("operator.v1")
}

// A live webhook is handed over to the administrator's tools and back, and at every moment
// trusts what its pods may serve.
func TestHandover(t *testing.T) {
	e := newParallelEnv(t)
	e.certManager()
	e.group("og", allNamespaces)
	e.runDeployments()
	e.manage()
	e.install(csv("operator.v1", "server"))
	first, bundles := e.servingCA(), e.watchTrust()
	e.signingCA("internal-ca", 1)
	e.issuer("internal", map[string]any{"ca": map[string]any{"secretName": "internal-ca"}})
	e.choose(managerv1alpha1.ProviderCertManager, vocabulary.AnnotationChosenIssuer, "Issuer/internal")
	e.provides(managerv1alpha1.ProviderCertManager)
	carried := e.servingCertificate().Leaf

	e.choose(managerv1alpha1.ProviderNone, injectFrom, e.namespace+"/own")
	e.eventually("the administrator's annotations are there", func() (bool, any) {
		annotations := e.registration("v.example.com").Annotations
		return annotations[injectFrom] != "" && e.rollout("operator.v1").Provider == managerv1alpha1.ProviderNone, annotations
	})
	e.ownCertificate("own")
	e.eventually("the administrator's certificate is served", func() (bool, any) {
		return e.servingCA() != nil && !e.servingCertificate().Leaf.Equal(carried), nil
	})
	e.succeeds("operator.v1")

	e.choose(managerv1alpha1.ProviderManager)
	e.says("Certificate " + e.namespace + "/own issues into Secret server-service-cert")
	certificates := e.any.Resource(issuers.Certificates).Namespace(e.namespace)
	e.must(certificates.Delete(e.ctx, "own", metav1.DeleteOptions{}))
	e.touch("operator.v1")
	e.provides(managerv1alpha1.ProviderManager)
	if annotations := e.registration("v.example.com").Annotations; annotations[injectFrom] != "" {
		t.Errorf("the registration is still annotated %v", annotations)
	}
	bundles.neverWithout(first, e.servingCA())
}

// ownCertificate is one that the administrator orders, into the Secret that pods mount.
func (e *env) ownCertificate(name string) {
	e.Helper()
	_, err := e.any.Resource(issuers.Certificates).Namespace(e.namespace).Create(e.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"secretName": servingSecret, "dnsNames": []any{"server-service." + e.namespace + ".svc"},
			"issuerRef": map[string]any{"kind": "Issuer", "name": "internal"},
		},
	}}, metav1.CreateOptions{})
	e.must(err)
}
