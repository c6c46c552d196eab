package certs

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// issuedByOLM returns a Secret as OLM v0 writes it: the CA is only under olmCAKey. The CA is valid
// from start for the given time, the leaf for 730 days.
func issuedByOLM(t *testing.T, validity time.Duration) *corev1.Secret {
	t.Helper()
	ca := newSigner(t, &x509.Certificate{
		Subject:   pkix.Name{CommonName: "olm-selfsigned-4f1c", Organization: []string{"Red Hat, Inc."}},
		NotBefore: start, NotAfter: after(validity),
	})
	g := ca.issue(&x509.Certificate{NotBefore: start, NotAfter: after(730 * day)})
	secret := &corev1.Secret{ObjectMeta: *blank.DeepCopy()}
	secret.Type = corev1.SecretTypeTLS
	secret.Labels = map[string]string{wellknown.LabelManaged: "true"}
	secret.Annotations = map[string]string{wellknown.AnnotationCAHash: hexSHA256(g.CA)}
	secret.Data = map[string][]byte{
		corev1.TLSCertKey:       g.Certificate,
		corev1.TLSPrivateKeyKey: g.Key,
		wellknown.KeyOLMCA:      g.CA,
	}
	return secret
}

func TestOLMSecretIsServedUntilRenewal(t *testing.T) {
	secret := issuedByOLM(t, 730*day)
	trusted := Registration{Name: "v", CABundle: secret.Data[wellknown.KeyOLMCA]}
	f := Facts{Secret: secret, Registrations: []Registration{trusted}, Names: names, Live: true}

	d := Decide(f, DefaultPolicy(), after(400*day))
	if d.Serving == nil || d.Problem != "" || d.Phase != managerv1alpha1.CertificateStable {
		t.Fatalf("a valid Secret of OLM v0 is %s: %s", d.Phase, d.Problem)
	}
	installtest.Same(t, "the generation", 0, d.Serving.Number)
	installtest.Same(t, "the CA hash", secret.Annotations[wellknown.AnnotationCAHash], d.Serving.CAHash)
	installtest.Same(t, "the caBundle", string(secret.Data[wellknown.KeyOLMCA]), string(d.Trust))

	f.Secret, f.Rotating = d.Write, new(int)
	if d = Decide(f, DefaultPolicy(), after(487*day)); d.Mint == nil || d.Mint.Number != 1 {
		t.Errorf("when renewal is due, the mint request is %+v", d.Mint)
	}
}

// Pods mount ca.crt. A pod with a missing key does not start.
func TestOLMSecretGetsMountedKey(t *testing.T) {
	secret := issuedByOLM(t, 730*day)
	completed := Decide(Facts{Secret: secret, Names: names, Live: true}, DefaultPolicy(), after(day)).Write
	if completed == nil || !bytes.Equal(completed.Data[wellknown.KeyCA], secret.Data[wellknown.KeyOLMCA]) {
		t.Fatal("ca.crt is not the CA of olmCAKey")
	}
	if d := Decide(Facts{Secret: completed, Names: names}, DefaultPolicy(), after(day)); d.Write != nil || d.Need != NeedNothing || d.Problem != "" {
		t.Errorf("the completed Secret is changed: it needs %q: %s", d.Need, d.Problem)
	}
}

func TestCAExpiresBeforeLeaf(t *testing.T) {
	f := Facts{Secret: issuedByOLM(t, 90*day), Names: names, Rotating: new(int), Live: true}
	f.Secret = Decide(f, DefaultPolicy(), start).Write
	if d := Decide(f, DefaultPolicy(), after(day)); d.Serving == nil || !d.Serving.NotAfter.Equal(after(90*day)) || d.Serving.RenewAt.After(after(60*day)) {
		t.Errorf("serving is %+v", d.Serving)
	}
	if d := Decide(f, DefaultPolicy(), after(60*day)); d.Mint == nil || d.Serving == nil {
		t.Errorf("after two thirds of the CA's validity the mint request is %+v", d.Mint)
	}
	d := Decide(f, DefaultPolicy(), after(90*day))
	if d.Serving != nil || !strings.Contains(d.Problem, "the CA expired at 2026-05-30T12:00:00Z") {
		t.Errorf("after the CA expired serving is %+v and the problem %q", d.Serving, d.Problem)
	}
}
