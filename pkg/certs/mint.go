package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Request says which generation to mint.
type Request struct {
	// Number is the generation's.
	Number int64
	// Names are the DNS names of the leaf; the first one also names the CA.
	Names []string
	// NotBefore and NotAfter bound the life of CA and leaf.
	NotBefore, NotAfter time.Time
}

// organization marks the CAs whose subject carries a generation number.
const organization = "olm-webhook-manager"

// maxCommonName is the limit of X.520 for a common name.
const maxCommonName = 64

// Mint makes a CA, lets it sign one leaf, and forgets its key.
func Mint(r Request) (Generation, error) {
	if len(r.Names) == 0 {
		return Generation{}, errors.New("a serving certificate needs at least one DNS name")
	}
	caKey, err := newKey()
	if err != nil {
		return Generation{}, err
	}
	ca, err := sign(authority(r), nil, caKey, caKey)
	if err != nil {
		return Generation{}, fmt.Errorf("sign the CA of generation %d for %s: %w", r.Number, r.Names[0], err)
	}
	leafKey, err := newKey()
	if err != nil {
		return Generation{}, err
	}
	leaf, err := sign(server(r), ca, leafKey, caKey)
	if err != nil {
		return Generation{}, fmt.Errorf("sign the certificate of generation %d for %s: %w", r.Number, r.Names[0], err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return Generation{}, fmt.Errorf("encode the key of generation %d for %s: %w", r.Number, r.Names[0], err)
	}
	return Generation{
		Number:      r.Number,
		CA:          encode(ca),
		Certificate: encode(leaf),
		Key:         pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
	}, nil
}

// authority is a CA for leaves only. Its subject is unlike any other's: verifiers
// look issuers up by subject, and the CAs of two generations stand in one bundle.
func authority(r Request) *x509.Certificate {
	name := r.Names[0]
	return &x509.Certificate{
		Subject: pkix.Name{
			Organization: []string{organization},
			CommonName:   name[:min(len(name), maxCommonName)],
			SerialNumber: strconv.FormatInt(r.Number, 10) + "-" + strings.ToLower(rand.Text()[:10]),
		},
		NotBefore:             r.NotBefore,
		NotAfter:              r.NotAfter,
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
}

// server is a serving leaf. It is known by its alternative names alone: a common
// name is ignored by verifiers, and too short for many Service names.
func server(r Request) *x509.Certificate {
	return &x509.Certificate{
		DNSNames:              slices.Clone(r.Names),
		NotBefore:             r.NotBefore,
		NotAfter:              r.NotAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
}

// sign issues a certificate; without an issuer it is self-signed. Serial number and
// key identifiers are left to the library, which derives them from randomness and key.
func sign(template, issuer *x509.Certificate, key, issuerKey *ecdsa.PrivateKey) (*x509.Certificate, error) {
	if issuer == nil {
		issuer = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), issuerKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate an ECDSA key: %w", err)
	}
	return key, nil
}
