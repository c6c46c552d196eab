package e2e

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// For every issuer of the certificate of a live webhook, and every CA that the issuer changes
// to, no call fails while each pod comes to serve it, and none is restarted for it. cert-manager and its cainjector are the real ones.
func TestProvidersUnderLoad(t *testing.T) {
	e := newBareEnv(t)
	certManager(e)
	term := &terminal{env: e}
	install := []string{"bundle", "install", e.hookBundle("hook", reloading), "-n", e.namespace, "--yes"}
	term.works("", install...)
	load := calls.Start(e, between, func(ctx context.Context) calls.Call { return e.call(ctx, true) })
	load.GoesOn(calls.Denied)
	template := hookTemplate(e)
	for _, change := range []struct {
		name string
		do   func()
	}{
		{"manager to cert-manager", func() { term.changeToCertManager(install...) }},
		{"another CA of the issuer", e.changeCA},
		{"cert-manager to none, with the cainjector", e.changeToNone},
		{"none to manager", e.changeToManager},
		{"manager to cert-manager, with a CA created for it", e.changeToOwnCA},
		{"that CA renewed", e.renewOwnCA},
	} {
		began := time.Now()
		change.do()
		t.Logf("%s: done after %s", change.name, time.Since(began).Round(100*time.Millisecond))
		e.haveFollowed(2)
		load.GoesOn(calls.Denied)
	}
	load.End(calls.Never)
	installtest.Same(t, "the annotations of the pod template", template, hookTemplate(e))
}

// reloading is a server that takes up another certificate, and drains.
func reloading(csv *operatorsv1alpha1.ClusterServiceVersion, _ *corev1.PodSpec) {
	csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0] = draining(server("hook", "--reload"))
}

// changeToCertManager names an issuer of the administrator's, as a person does: the bundle is installed again.
func (e *terminal) changeToCertManager(install ...string) {
	e.Helper()
	declare(e.env, issuers.Issuers, "Issuer", "root", map[string]any{"selfSigned": map[string]any{}})
	declare(e.env, issuers.Certificates, "Certificate", "ca", map[string]any{
		"isCA": true, "commonName": "e2e", "secretName": "ca", "issuerRef": map[string]any{"kind": "Issuer", "name": "root"},
	})
	declare(e.env, issuers.Issuers, "Issuer", "internal", map[string]any{"ca": map[string]any{"secretName": "ca"}})
	e.works("", append(install, "--certificates=cert-manager", "--issuer=Issuer/internal")...)
	provides(e.env, managerv1alpha1.ProviderCertManager, 2)
}

func (e *env) changeCA() {
	e.Helper()
	secrets := kubeClient.CoreV1().Secrets(e.namespace)
	e.must(secrets.Delete(e.ctx, "ca", metav1.DeleteOptions{}))
	e.eventually("the issuer has another CA", func() (bool, any) {
		ca, err := secrets.Get(e.ctx, "ca", metav1.GetOptions{})
		return err == nil && len(ca.Data[corev1.TLSCertKey]) > 0, err
	})
	e.must(secrets.Delete(e.ctx, hookCertificate+"-issued", metav1.DeleteOptions{}))
	provides(e, managerv1alpha1.ProviderCertManager, 3)
}

// changeToNone lets the administrator's own Certificate, of the same issuer, replace the manager's. No client
// then makes kubelets re-sync, and they would take a minute.
func (e *env) changeToNone() {
	e.Helper()
	before := leaf(e)
	choose(e, managerv1alpha1.ProviderNone, "cert-manager.io/inject-ca-from", e.namespace+"/own")
	becomes(e, "the manager does not modify the objects", func() managerv1alpha1.CertificateProvider { return e.certificate("hook.v1").Provider }, managerv1alpha1.ProviderNone)
	declare(e, issuers.Certificates, "Certificate", "own", map[string]any{
		"secretName": hookCertificate, "dnsNames": []any{"hook-service." + e.namespace + ".svc"},
		"issuerRef": map[string]any{"kind": "Issuer", "name": "internal"},
	})
	e.eventually("the administrator's certificate exists", func() (bool, any) { return leaf(e) != before, nil })
	e.eventually("the cainjector has a hand in the registration", func() (bool, any) {
		fields := e.registration().ManagedFields
		return slices.ContainsFunc(fields, func(f metav1.ManagedFieldsEntry) bool { return strings.Contains(f.Manager, "cainjector") }), fields
	})
	takeUp(e, 2)
}

func (e *env) changeToManager() {
	e.Helper()
	choose(e, managerv1alpha1.ProviderManager)
	e.must(dynamicClient.Resource(issuers.Certificates).Namespace(e.namespace).Delete(e.ctx, "own", metav1.DeleteOptions{}))
	provides(e, managerv1alpha1.ProviderManager, 4)
}

// changeToOwnCA names no issuer: cert-manager creates a CA for the operator.
func (e *env) changeToOwnCA() {
	e.Helper()
	choose(e, managerv1alpha1.ProviderCertManager)
	provides(e, managerv1alpha1.ProviderCertManager, 5)
}

// renewOwnCA has cert-manager renew that CA, as cmctl renew does, and what it signed.
func (e *env) renewOwnCA() {
	e.Helper()
	ca := names.CA("hook-service")
	before := secret(e, names.Issued(ca)).Data[corev1.TLSCertKey]
	renew(e, ca)
	e.eventually("the CA is another", func() (bool, any) {
		now := secret(e, names.Issued(ca)).Data[corev1.TLSCertKey]
		return len(now) > 0 && !bytes.Equal(now, before), string(now)
	})
	e.order("hook.v1", "of the renewed CA")
	provides(e, managerv1alpha1.ProviderCertManager, 6)
	served, signer := secret(e, hookCertificate).Data["ca.crt"], secret(e, names.Issued(ca)).Data[corev1.TLSCertKey]
	if !bytes.Equal(served, signer) {
		e.Errorf("what is served is signed by\n%s, not by the CA that was renewed\n%s", served, signer)
	}
}

func renew(e *env, certificate string) {
	e.Helper()
	certificates := dynamicClient.Resource(issuers.Certificates).Namespace(e.namespace)
	e.eventually("cert-manager is asked to renew "+certificate, func() (bool, any) {
		live, err := certificates.Get(e.ctx, certificate, metav1.GetOptions{})
		e.must(err)
		conditions, _, err := unstructured.NestedSlice(live.Object, "status", "conditions")
		e.must(err)
		conditions = append(conditions, map[string]any{
			"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "the test renews it",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		})
		e.must(unstructured.SetNestedSlice(live.Object, conditions, "status", "conditions"))
		_, err = certificates.UpdateStatus(e.ctx, live, metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) {
			e.must(err)
		}
		return err == nil, err
	})
}

func secret(e *env, name string) *corev1.Secret {
	e.Helper()
	secret := kube.Get(e, kubeClient.CoreV1().Secrets(e.namespace), name)
	return secret
}

// certManager runs the real one next to the cluster until the test ends, unless the
// cluster is not one of ours and has its own.
func certManager(e *env) {
	e.Helper()
	_, err := dynamicClient.Resource(issuers.Certificates).List(e.ctx, metav1.ListOptions{Limit: 1})
	if err == nil && !kube.ClusterAuditLog().Available() {
		return
	}
	cluster, err := kube.Start(e.ctx)
	e.must(err)
	e.Cleanup(func() { e.must(cluster.Stop()) })
	e.must(cluster.StartCertManager(e.ctx))
}

func declare(e *env, resource schema.GroupVersionResource, kind, name string, spec map[string]any) {
	e.Helper()
	e.must(kube.Declare(e.ctx, dynamicClient, e.namespace, resource, kind, name, spec))
}

func choose(e *env, provider managerv1alpha1.CertificateProvider, more ...string) {
	e.Helper()
	e.must(kube.Choose(e.ctx, olmClient, e.namespace, "hook", "hook.v1", provider, more...))
}

// provides waits until a provider's certificate of a generation is the only one that is served and trusted.
func provides(e *env, provider managerv1alpha1.CertificateProvider, generation int64) {
	e.Helper()
	e.rotates("hook.v1", generation)
	e.eventually("certificates are those of "+string(provider), func() (bool, any) {
		c := e.certificate("hook.v1")
		return c.Provider == provider && c.Message == "", c
	})
}

// leaf is the certificate that pods mount.
func leaf(e *env) string {
	e.Helper()
	return string(secret(e, hookCertificate).Data[corev1.TLSCertKey])
}
