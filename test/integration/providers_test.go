package integration

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var runCertManager = sync.OnceValue(func() error { return cluster.StartCertManager(context.Background()) })

func (e *env) certManager() {
	e.Helper()
	e.must(runCertManager())
}

// issuingControllers has what the tests need of each provider with a controller.
var issuingControllers = map[managerv1alpha1.CertificateProvider]struct {
	start          func(*env)
	asked          []string // the objects that request and contain the certificate of Deployment server
	reportsRenewal bool     // when it renews
}{
	"cert-manager": {(*env).certManager, []string{
		"Certificate server-service-ca", "Certificate server-service-cert", "Issuer server-service-ca", "Issuer server-service-selfsigned",
		"Secret server-service-ca-issued", "Secret server-service-cert-issued",
	}, true},
	"service-ca": {
		func(e *env) { runServiceCA(e) },
		[]string{"ConfigMap server-service-ca", "Secret server-service-cert-issued", "Service server-service"}, false,
	},
}

// startControllers starts the controllers of all providers, and returns these providers.
func startControllers(e *env) (all []managerv1alpha1.CertificateProvider) {
	e.Helper()
	for _, p := range issuers.Providers {
		if issuers.HasController(p.Name) {
			issuingControllers[p.Name].start(e)
			all = append(all, p.Name)
		}
	}
	return all
}

func choose(e *env, provider managerv1alpha1.CertificateProvider, more ...string) {
	e.Helper()
	e.must(kube.Choose(e.ctx, e.olm, e.namespace, "operator", "operator.v1", provider, more...))
}

// provides waits until a provider's certificate is the only one that is served and trusted.
func provides(e *env, provider managerv1alpha1.CertificateProvider) {
	e.Helper()
	e.eventually("certificates are those of "+string(provider), func() (bool, any) {
		s := e.rollout("operator.v1")
		if len(s.Deployments) == 0 || s.Deployments[0].Certificate == nil {
			return false, s
		}
		c := s.Deployments[0].Certificate
		return s.Provider == provider && c.Provider == provider && c.Phase == managerv1alpha1.CertificateStable && c.Message == "" &&
			len(registered(e)) == 1 && rotated(e), fmt.Sprintf("%s %+v", s.Provider, *c)
	})
}

func (e *env) says(text string) {
	e.Helper()
	e.eventually("the WebhookRollout reports "+text, func() (bool, any) {
		s := e.rollout("operator.v1")
		if len(s.Deployments) == 0 || s.Deployments[0].Certificate == nil {
			return false, s
		}
		return strings.Contains(s.Deployments[0].Certificate.Message, text), *s.Deployments[0].Certificate
	})
}

// The state of a cluster without cert-manager is clear, and ends when it is installed.
// This test comes before the ones that others run next to, which need cert-manager.
func TestCertManagerIsNotInstalled(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	choose(e, managerv1alpha1.ProviderCertManager)
	e.manage()
	e.create(csv("operator.v1", "server"))
	e.says("cert-manager is not installed")
	if w := webhookStatus(e, "operator.v1", "v.example.com"); w.Reason != "CertificateUnusable" || !strings.Contains(w.Message, "install cert-manager") {
		t.Errorf("the webhook reports %+v", w)
	}
	registersNothing(e)
	e.certManager()
	provides(e, managerv1alpha1.ProviderCertManager)
	e.succeeds("operator.v1")
}

// A certificate of cert-manager is signed by a CA, is rotated like any other, and leaves
// nothing behind that no garbage collector would remove.
func TestCertManagerIssues(t *testing.T) {
	e := newOperatorEnv(t)
	e.certManager()
	m := e.manage()
	choose(e, managerv1alpha1.ProviderCertManager)
	e.install(csv("operator.v1", "server"))
	provides(e, managerv1alpha1.ProviderCertManager)
	leaf := servingCertificate(e).Leaf
	if leaf.IsCA || !parse(e.servingCA()).IsCA {
		t.Error("the leaf is a CA, or is signed by none")
	}
	e.must(leaf.VerifyHostname("server-service." + e.namespace + ".svc"))
	m.settles("operator.v1")
	e.uninstall("operator.v1")
	leavesNothing(e)
}

// Providers change while the webhook is live, each into each of the others, and at every
// moment it trusts what its pods may serve. What was requested from the previous one is deleted.
func TestProvidersChange(t *testing.T) {
	const manager, none = managerv1alpha1.ProviderManager, managerv1alpha1.ProviderNone
	all := managerv1alpha1.CertificateProviders()
	var tour []managerv1alpha1.CertificateProvider // each change once
	for i, from := range all {
		for _, to := range all[i+1:] {
			tour = append(tour, from, to)
		}
	}
	tour = append(tour, all[0])
	e := newOperatorEnv(t)
	startControllers(e)
	runOperator(e)
	first, bundles := e.servingCA(), watchTrust(e)
	for i, next := range tour[1:] {
		before := e.servingCA()
		collectRequests(e)
		if next == none {
			choose(e, none, injectFrom, e.namespace+"/own")
			handsOff(e)
		} else {
			choose(e, next)
			provides(e, next)
		}
		same(t, fmt.Sprintf("from %s to %s: the CA is the previous one", tour[i], next), bytes.Equal(before, e.servingCA()), next == none)
		e.eventually("only "+string(next)+" is asked", func() (bool, any) { return asked(e, next) })
		e.eventually("the ClusterServiceVersion reports when "+string(next)+" renews, if it reports that", func() (bool, any) {
			s := e.get("operator.v1").Status
			return s.CertsLastUpdated != nil && (s.CertsRotateAt != nil) == (next == manager || issuingControllers[next].reportsRenewal), s.CertsRotateAt
		})
	}
	bundles.neverWithout(first, e.servingCA())
	e.succeeds("operator.v1")
}

// handsOff waits until the administrator's annotations are set, and the certificate is what it was, and trusted.
func handsOff(e *env) {
	e.Helper()
	e.eventually("the manager does not modify the objects", func() (bool, any) {
		s, registration := e.rollout("operator.v1"), e.registration("v.example.com")
		return s.Provider == managerv1alpha1.ProviderNone && s.Deployments[0].Certificate.Provider == managerv1alpha1.ProviderNone &&
			registration.Annotations[injectFrom] != "" && trusts(e, e.servingCA()), s
	})
}

// collectRequests plays the garbage collector for what cert-manager made of Certificates
// that no longer exist: it would take their names for requests that are under way.
func collectRequests(e *env) {
	e.Helper()
	requests := e.any.Resource(issuers.Certificates.GroupVersion().WithResource("certificaterequests")).Namespace(e.namespace)
	for _, o := range kube.List(e, requests, metav1.ListOptions{}).Items {
		owner := o.GetOwnerReferences()[0]
		there, err := e.any.Resource(issuers.Certificates).Namespace(e.namespace).Get(e.ctx, owner.Name, metav1.GetOptions{})
		if err != nil || there.GetUID() != owner.UID {
			e.must(requests.Delete(e.ctx, o.GetName(), metav1.DeleteOptions{}))
		}
	}
}

func asked(e *env, provider managerv1alpha1.CertificateProvider) (ok bool, seen []string) {
	e.Helper()
	for _, kind := range issuers.Kinds() {
		if kind.ClusterScoped {
			continue // the manager creates none
		}
		options := metav1.ListOptions{}
		if kind.Resource == issuers.ConfigMaps {
			options.LabelSelector = "olm.managed=true"
		}
		list, err := e.any.Resource(kind.Resource).Namespace(e.namespace).List(e.ctx, options)
		e.must(err)
		for _, o := range list.Items {
			seen = append(seen, kind.Name+" "+o.GetName())
		}
	}
	secrets := kube.List(e, e.kube.CoreV1().Secrets(e.namespace), metav1.ListOptions{})
	for _, o := range secrets.Items {
		if strings.HasSuffix(o.Name, "-issued") {
			seen = append(seen, "Secret "+o.Name)
		}
	}
	if kube.Get(e, e.kube.CoreV1().Services(e.namespace), "server-service").Annotations[wellknown.AnnotationServingCertSecret] != "" {
		seen = append(seen, "Service server-service")
	}
	slices.Sort(seen)
	return slices.Equal(seen, issuingControllers[provider].asked), seen
}

// A choice that cannot be read changes nothing of what there is.
func TestMistakenChoice(t *testing.T) {
	e, _ := newRunningOperator(t)
	before := e.servingCA()
	choose(e, "vault")
	e.says(`Subscription ` + e.namespace + `/operator, spec.config.annotations: olm-webhook-manager.io/certificate-provider is "vault": use manager`)
	if !bytes.Equal(before, e.servingCA()) || !rotated(e) {
		t.Error("the certificate is another one")
	}
	e.succeeds("operator.v1")
	choose(e, managerv1alpha1.ProviderManager)
	provides(e, managerv1alpha1.ProviderManager)
}

// An issuer that is named has to be there and ready, and its CA may change under way.
func TestNamedIssuer(t *testing.T) {
	e := newOperatorEnv(t)
	e.certManager()
	m := runOperator(e)
	first, bundles := e.servingCA(), watchTrust(e)
	choose(e, managerv1alpha1.ProviderCertManager, wellknown.AnnotationCertManagerIssuer, "Issuer/internal")
	e.says("Issuer " + e.namespace + "/internal does not exist")
	issuer(e, "internal", map[string]any{"ca": map[string]any{"secretName": "internal-ca"}})
	e.says("Issuer " + e.namespace + "/internal is not ready")
	same(t, "the CA before there is another certificate", e.servingCA(), first)
	signingCA(e, "internal-ca", 1)
	provides(e, managerv1alpha1.ProviderCertManager)

	before := e.servingCA()
	signingCA(e, "internal-ca", 2)
	signs(e, "internal", "internal 2")
	e.order("once")
	e.eventually("the issuer's new CA signs", func() (bool, any) { return !bytes.Equal(before, e.servingCA()), nil })
	provides(e, managerv1alpha1.ProviderCertManager)
	bundles.neverWithout(first, e.servingCA())
	issued := e.issued().UID
	m.looksAgain("operator.v1")
	same(t, "the uid of the Secret of an order that was followed", e.issued().UID, issued)
	e.order(wellknown.RotateCompromised + " once")
	e.eventually("there is another leaf", func() (bool, any) { return e.issued().UID != issued, nil })
	provides(e, managerv1alpha1.ProviderCertManager)
}

// signs waits until an issuer signs with the CA of that name: cert-manager reads its Secret from a
// cache, and an order that came before the CA would be followed with the previous one.
func signs(e *env, issuer, ca string) {
	e.Helper()
	asked, name := 0, ""
	e.eventually(issuer+" signs with "+ca, func() (bool, any) {
		if name == "" {
			asked++
			name = fmt.Sprintf("throw-away-%d", asked)
			declare(e, issuers.Certificates, "Certificate", name, map[string]any{
				"secretName": name, "dnsNames": []any{"throw-away.example.com"}, "issuerRef": map[string]any{"kind": "Issuer", "name": issuer},
			})
		}
		secret, err := e.kube.CoreV1().Secrets(e.namespace).Get(e.ctx, name, metav1.GetOptions{})
		leaf := parse(secret.Data[corev1.TLSCertKey])
		if leaf == nil {
			return false, err
		}
		signer := leaf.Issuer.CommonName
		if signer != ca {
			name = ""
		}
		return signer == ca, signer
	})
}

func (e *env) issued() *corev1.Secret {
	e.Helper()
	secret, err := e.kube.CoreV1().Secrets(e.namespace).Get(e.ctx, servingSecret+"-issued", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		e.must(err)
	}
	return secret
}

// What service-ca issues is taken up when it renews it of itself, when an administrator orders it,
// and when its CA changes, in whichever order the certificate and the bundle come.
func TestServiceCAReissues(t *testing.T) {
	e := newOperatorEnv(t)
	ca := runServiceCA(e)
	e.manage()
	choose(e, managerv1alpha1.ProviderServiceCA)
	e.install(csv("operator.v1", "server"))
	provides(e, managerv1alpha1.ProviderServiceCA)
	first, bundles := e.servingCA(), watchTrust(e)
	for _, reissue := range []struct {
		name      string
		do        func()
		anotherCA bool
	}{
		{"renewed", ca.renew, false},
		{"ordered", func() { e.order("once") }, false},
		{"by another CA, certificate first", func() { ca.changeCA(); ca.renew(); takesUp(e); ca.publish() }, true},
		{"by another CA, bundle first", func() { ca.changeCA(); ca.publish(); ca.renew() }, true},
	} {
		leaf, before := servingCertificate(e).Leaf, e.servingCA()
		reissue.do()
		e.eventually(reissue.name+": it is taken up", func() (bool, any) {
			other := !bytes.Equal(before, e.servingCA())
			return !leaf.Equal(servingCertificate(e).Leaf) && other == reissue.anotherCA, other
		})
		provides(e, managerv1alpha1.ProviderServiceCA)
	}
	bundles.neverWithout(first, e.servingCA())
}

func takesUp(e *env) {
	e.Helper()
	e.eventually("pods are given what was issued last", func() (bool, any) {
		c := rotation(e)
		return bytes.Equal(e.issued().Data[corev1.TLSCertKey], certificate(e).Data[corev1.TLSCertKey]) && c.Phase == managerv1alpha1.CertificateStable, c
	})
}

// Issuers that are not cert-manager's own may never answer, or publish no CA.
func TestExternalIssuer(t *testing.T) {
	e := newOperatorEnv(t)
	e.certManager()
	choose(e, managerv1alpha1.ProviderCertManager, wellknown.AnnotationCertManagerIssuer, "Corporate.example.com/ca")
	e.manage()
	e.create(csv("operator.v1", "server"))
	e.says("Certificate " + e.namespace + "/server-service-cert is not ready: ")
	registersNothing(e)
	signRequests(e, nil)
	e.says("Corporate " + e.namespace + "/ca publishes no CA: Secret " + e.namespace + "/server-service-cert-issued has no ca.crt")
	registersNothing(e)
	choose(e, managerv1alpha1.ProviderCertManager)
	provides(e, managerv1alpha1.ProviderCertManager)
}

func issuer(e *env, name string, spec map[string]any) {
	e.Helper()
	declare(e, issuers.Issuers, "Issuer", name, spec)
}

func declare(e *env, resource schema.GroupVersionResource, kind, name string, spec map[string]any) {
	e.Helper()
	e.must(kube.Declare(e.ctx, e.any, e.namespace, resource, kind, name, spec))
}
