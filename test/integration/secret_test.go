package integration

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const servingSecret = "server-service-cert"

// A lost serving certificate is replaced. Pods serve the lost one until
// they see the new one, so the webhook trusts both, and the new one before it is written.
func TestSecretIsLost(t *testing.T) {
	for name, lose := range map[string]func(*env){
		"deleted": func(e *env) {
			e.must(e.kube.CoreV1().Secrets(e.namespace).Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
		},
		"without its key":         patchSecret(`{"data": {"tls.key": ""}}`),
		"without its certificate": patchSecret(`{"data": {"tls.crt": "", "ca.crt": null, "olmCAKey": null}}`),
		"spoiled":                 patchSecret(`{"data": {"tls.crt": "c3BvaWxlZA=="}}`),
		"recreated by another":    makeAnew(func(*corev1.Secret) {}),
		"recreated, unchangeable": makeAnew(func(s *corev1.Secret) { s.Immutable = new(true) }),
		"of another type":         makeAnew(func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }),
	} {
		t.Run(name, func(t *testing.T) {
			e, _ := newRunningOperator(t)
			lost, bundles := e.servingCA(), watchTrust(e)

			lose(e)
			e.eventually("there is another certificate", func() (bool, any) {
				ca := e.servingCA()
				return len(ca) > 0 && !bytes.Equal(ca, lost), string(ca)
			})
			e.eventually("nothing else is trusted any more", func() (bool, any) { return rotated(e), nil })
			bundles.neverWithout(lost, e.servingCA())
			e.succeeds("operator.v1")
			same(t, "the Secret is the ClusterServiceVersion's", csvspec.OwnedBy(certificate(e), e.get("operator.v1")), true)
		})
	}
}

// makeAnew is what another client does that deletes the Secret and creates one of its own.
func makeAnew(change func(*corev1.Secret)) func(*env) {
	return func(e *env) {
		e.Helper()
		other := otherSecret(e)
		change(other)
		secrets := e.kube.CoreV1().Secrets(e.namespace)
		for made := false; !made; { // the manager may be quicker
			e.must(secrets.Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
			_, err := secrets.Create(e.ctx, other, metav1.CreateOptions{})
			if made = err == nil; !apierrors.IsAlreadyExists(err) {
				e.must(err)
			}
		}
	}
}

func TestSecretLosesItsLabel(t *testing.T) {
	e, _ := newRunningOperator(t)
	before := certificate(e)
	patchSecret(`{"metadata": {"labels": null}}`)(e)
	becomes(e, "it has its label", func() string { return certificate(e).Labels[wellknown.LabelManaged] }, "true")
	now := certificate(e)
	same(t, "the content of the Secret", now.Data, before.Data)
	same(t, "the annotations of the Secret", now.Annotations, before.Annotations)
}

// A Secret that belongs to another client is not modified, and reported as
// an obstacle; the webhook continues with the certificate that its pods have.
func TestSecretIsClaimed(t *testing.T) {
	e, m := newRunningOperator(t)
	served := e.servingCA()

	since := auditEnd(e)
	patchSecret(`{"metadata": {"labels": {"olm.managed": null, "app.kubernetes.io/managed-by": "Helm"}}}`)(e)
	e.says(servingSecret + " has the label app.kubernetes.io/managed-by=Helm, so it belongs to another client")
	m.looksAgain("operator.v1")
	m.looksAgain("operator.v1")
	none(t, "changes by the manager", slices.DeleteFunc(m.changes(since), func(w string) bool { return strings.Contains(w, "/status ") }))
	mustTrust(e, served)
}

func patchSecret(patch string) func(*env) {
	return func(e *env) {
		e.Helper()
		kube.Patch(e, e.kube.CoreV1().Secrets(e.namespace), servingSecret, types.MergePatchType, []byte(patch))
	}
}

func (e *env) servingCA() []byte { return caOf(e, servingSecret) }

// caOf is the CA of the serving certificate in a Secret, if it can be served.
func caOf(e *env, name string) []byte {
	e.Helper()
	secret, err := e.kube.CoreV1().Secrets(e.namespace).Get(e.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	e.must(err)
	ca, leaf := secret.Data["ca.crt"], parse(secret.Data[corev1.TLSCertKey])
	if leaf == nil || len(secret.Data[corev1.TLSPrivateKeyKey]) == 0 || parse(ca) == nil || leaf.CheckSignatureFrom(parse(ca)) != nil {
		return nil
	}
	return ca
}

func parse(text []byte) *x509.Certificate {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return c
}

func trusts(e *env, ca []byte) bool {
	e.Helper()
	return len(ca) > 0 && bytes.Contains(e.registration("v.example.com").Webhooks[0].ClientConfig.CABundle, ca)
}

// mustTrust fails the test unless the webhook trusts these CAs.
func mustTrust(e *env, authorities ...[]byte) {
	e.Helper()
	for _, ca := range authorities {
		if !trusts(e, ca) {
			e.Errorf("the webhook does not trust what its pods serve or will serve: %s", ca)
		}
	}
}
