package certs

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// issuedByOLM is a Secret as OLM v0 writes it: with a CA that it named itself, under
// olmCAKey alone. The CA lives from start, for so long; the leaf lives 730 days.
func issuedByOLM(t *testing.T, validity time.Duration) *corev1.Secret {
	t.Helper()
	caKey, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	leafKey, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	ca, err := sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "olm-selfsigned-4f1c", Organization: []string{"Red Hat, Inc."}},
		NotBefore:             start,
		NotAfter:              after(validity),
		BasicConstraintsValid: true,
		IsCA:                  true,
	}, nil, caKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := sign(&x509.Certificate{DNSNames: names, NotBefore: start, NotAfter: after(730 * day)}, ca, leafKey, caKey)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalECPrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	secret := blank()
	secret.Type = corev1.SecretTypeTLS
	secret.Labels = map[string]string{vocabulary.LabelManaged: "true"}
	secret.Annotations = map[string]string{vocabulary.AnnotationCAHash: hexSHA256(encode(ca))}
	secret.Data = map[string][]byte{
		corev1.TLSCertKey:       encode(leaf),
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: key}),
		vocabulary.KeyOLMCA:     encode(ca),
	}
	return secret
}

func TestASecretOfOLMIsServedUntilItIsDue(t *testing.T) {
	secret := issuedByOLM(t, 730*day)
	f := Facts{Secret: secret, Registered: [][]byte{secret.Data[vocabulary.KeyOLMCA]}, Names: names}

	d := Decide(f, DefaultPolicy(), after(400*day))
	if d.Mint != nil || d.Serving == nil || d.Problem != "" {
		t.Fatalf("a usable Secret of OLM's amounts to %+v", d)
	}
	if d.Serving.Number != 0 || d.Serving.CAHash != secret.Annotations[vocabulary.AnnotationCAHash] {
		t.Errorf("it is generation %d with CA hash %s, want 0 and %s",
			d.Serving.Number, d.Serving.CAHash, secret.Annotations[vocabulary.AnnotationCAHash])
	}
	if string(d.Trust) != string(secret.Data[vocabulary.KeyOLMCA]) {
		t.Errorf("the caBundle changes from OLM's to %q", d.Trust)
	}

	now := after(487 * day)
	d = Decide(f, DefaultPolicy(), now)
	if d.Phase != managerv1alpha1.CertificateRecovering || d.Mint == nil || d.Mint.Number != 1 {
		t.Fatalf("when it is due, it amounts to %+v", d)
	}
	g := mint(t, *d.Mint)
	renewed := Fill(secret, g, d)
	if string(renewed.Data[vocabulary.KeyCA]) != string(g.CA) || string(renewed.Data[vocabulary.KeyOLMCA]) != string(g.CA) {
		t.Error("the renewed Secret does not hold the new CA under both keys")
	}
	for name, leaf := range map[string][]byte{"OLM's": secret.Data[corev1.TLSCertKey], "the new": g.Certificate} {
		if err := verifies(leaf, g.Trust(d), now); err != nil {
			t.Errorf("%s leaf: %v", name, err)
		}
	}
}

func TestACAThatEndsBeforeItsLeafEndsTheGeneration(t *testing.T) {
	f := Facts{Secret: issuedByOLM(t, 90*day), Registered: [][]byte{nil}, Names: names}
	if d := Decide(f, DefaultPolicy(), after(day)); d.Serving == nil || !d.Serving.NotAfter.Equal(after(90*day)) || !d.Next.Equal(after(60*day)) {
		t.Errorf("serving is %+v, looked at next at %s", d.Serving, d.Next)
	}
	if d := Decide(f, DefaultPolicy(), after(60*day)); d.Mint == nil || d.Serving == nil {
		t.Errorf("two thirds through the CA's life it amounts to %+v", d)
	}
	d := Decide(f, DefaultPolicy(), after(90*day))
	if d.Serving != nil || !strings.Contains(d.Problem, "olmCAKey ended at 2026-05-30T12:00:00Z") {
		t.Errorf("after the CA's end serving is %+v and the problem %q", d.Serving, d.Problem)
	}
}
