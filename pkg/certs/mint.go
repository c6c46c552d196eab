package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
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

// Request describes a generation to mint.
type Request struct {
	Number int64
	// Names are the DNS names of the leaf. The first one also names the CA.
	Names []string
	// Key is the kind of both keys; ECDSA P-256 if it is empty.
	Key                 KeyType
	NotBefore, NotAfter time.Time
}

// organization identifies CAs whose subject has a generation number.
const organization = "olm-webhook-manager"

// maxCommonName is the limit of X.520 for a common name.
const maxCommonName = 64

// Mint creates a CA, signs one leaf with it, and discards the key of the CA.
func Mint(r Request) (Generation, error) {
	if len(r.Names) == 0 {
		return Generation{}, errors.New("a serving certificate needs at least one DNS name")
	}
	caKey, err := newKey(r.Key)
	if err != nil {
		return Generation{}, err
	}
	ca, err := sign(authority(r), nil, caKey, caKey)
	if err != nil {
		return Generation{}, fmt.Errorf("sign the CA of generation %d for %s: %w", r.Number, r.Names[0], err)
	}
	leafKey, err := newKey(r.Key)
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

// Verifiers look up issuers by subject, and one bundle has the CAs of two generations: the subject is unique.
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

// Verifiers ignore a common name, which is too short for many Service names.
func server(r Request) *x509.Certificate {
	usage := x509.KeyUsageDigitalSignature
	if r.Key == KeyRSA3072 {
		usage |= x509.KeyUsageKeyEncipherment // for the RSA key exchange of TLS 1.2
	}
	return &x509.Certificate{
		DNSNames:              slices.Clone(r.Names),
		NotBefore:             r.NotBefore,
		NotAfter:              r.NotAfter,
		KeyUsage:              usage,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
}

// Without an issuer the certificate is self-signed. The library derives serial number and key identifiers.
func sign(template, issuer *x509.Certificate, key, issuerKey crypto.Signer) (*x509.Certificate, error) {
	if issuer == nil {
		issuer = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key.Public(), issuerKey)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// KeyType is a kind of private key.
type KeyType string

// The kinds of keys.
const (
	KeyECDSAP256 KeyType = "ECDSA-P256"
	KeyECDSAP384 KeyType = "ECDSA-P384"
	KeyRSA3072   KeyType = "RSA-3072"
	// KeyEd25519 needs a FIPS 140 module with it, where API and webhook servers are built with one.
	KeyEd25519 KeyType = "Ed25519"
)

// keyTypes are all kinds of keys, the default first.
var keyTypes = []KeyType{KeyECDSAP256, KeyECDSAP384, KeyRSA3072, KeyEd25519}

func newKey(kind KeyType) (crypto.Signer, error) {
	var key crypto.Signer
	var err error
	switch kind {
	case KeyECDSAP256, "":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case KeyECDSAP384:
		key, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case KeyRSA3072:
		key, err = rsa.GenerateKey(rand.Reader, 3072)
	case KeyEd25519:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	default:
		err = errors.New("no such kind of key")
	}
	if err != nil {
		return nil, fmt.Errorf("generate a key of kind %q: %w", kind, err)
	}
	return key, nil
}

// DNSNames returns the names that OLM uses. API servers call "service.namespace.svc", other clients the others.
func DNSNames(service, namespace string) []string {
	name := service + "." + namespace
	return []string{name, name + ".svc", name + ".svc.cluster.local"}
}
