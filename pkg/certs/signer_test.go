package certs

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// signer is a CA whose private key is kept.
type signer struct {
	t    *testing.T
	cert *x509.Certificate
	key  crypto.Signer
}

func newSigner(t *testing.T, template *x509.Certificate) signer {
	t.Helper()
	key, err := newKey(KeyECDSAP256)
	installtest.Must(t, err)
	template.BasicConstraintsValid, template.IsCA = true, true
	cert, err := sign(template, nil, key, key)
	installtest.Must(t, err)
	return signer{t, cert, key}
}

// issue signs a leaf for names.
func (s signer) issue(template *x509.Certificate) Generation {
	s.t.Helper()
	leafKey, err := newKey(KeyECDSAP256)
	if err != nil {
		s.t.Fatal(err)
	}
	template.DNSNames = names
	leaf, err := sign(template, s.cert, leafKey, s.key)
	if err != nil {
		s.t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		s.t.Fatal(err)
	}
	return Generation{
		CA:          encode(s.cert),
		Certificate: encode(leaf),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
}
