package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestMintedChainVerifies(t *testing.T) {
	g := minted(t, 5, start)
	installtest.Must(t, verifies(g.Certificate, g.CA, start))
	for _, name := range names {
		installtest.Must(t, parse(g.Certificate)[0].VerifyHostname(name))
	}
	pair := installtest.OrPanic(tls.X509KeyPair(g.Certificate, g.Key))
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || key.Curve != elliptic.P256() {
		t.Errorf("the key is a %T, want ECDSA on P-256", pair.PrivateKey)
	}
}

func TestMintLimitsTheLeaf(t *testing.T) {
	leaf := parse(minted(t, 1, start).Certificate)[0]
	installtest.Same(t, "the subject of the leaf", "", leaf.Subject.String())
	installtest.Same(t, "the names of the leaf", names, leaf.DNSNames)
	installtest.Same(t, "the extended key usage of the leaf", []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, leaf.ExtKeyUsage)
	installtest.Same(t, "the key usage of the leaf", x509.KeyUsageDigitalSignature, leaf.KeyUsage)
	installtest.Same(t, "the leaf is a CA", false, leaf.IsCA)
	installtest.Same(t, "the leaf has basic constraints", true, leaf.BasicConstraintsValid)
}

func TestMintLimitsTheCA(t *testing.T) {
	ca := parse(minted(t, 5, start).CA)[0]
	if !ca.IsCA || !ca.MaxPathLenZero || ca.MaxPathLen != 0 {
		t.Error("the CA may sign other CAs")
	}
	installtest.Same(t, "the key usage of the CA", x509.KeyUsageCertSign, ca.KeyUsage)
	installtest.Same(t, "the Service in the CA's subject", names[0], ca.Subject.CommonName)
	installtest.Prefix(t, "the generation in the CA's subject", "5-", ca.Subject.SerialNumber)
}

func TestMintNeverRepeatsACA(t *testing.T) {
	one, two := parse(minted(t, 1, start).CA)[0], parse(minted(t, 1, start).CA)[0]
	installtest.Same(t, "two CAs have the subject "+one.Subject.String(), false, bytes.Equal(one.RawSubject, two.RawSubject))
	if len(one.SubjectKeyId) == 0 || bytes.Equal(one.SubjectKeyId, two.SubjectKeyId) {
		t.Errorf("two CAs have the key id %x", one.SubjectKeyId)
	}
	installtest.Same(t, "two CAs have the serial number "+one.SerialNumber.String(), false, one.SerialNumber.Cmp(two.SerialNumber) == 0)
}

func TestMintKeepsTheCommonNameWithinX520(t *testing.T) {
	long := DNSNames(strings.Repeat("s", 63), strings.Repeat("n", 63))
	g := mint(t, Request{Number: 1, Names: long, NotBefore: start, NotAfter: after(day)})
	installtest.Same(t, "the length of the common name", 64, len(parse(g.CA)[0].Subject.CommonName))
	installtest.Must(t, parse(g.Certificate)[0].VerifyHostname(long[2]))
}

func TestMintRequiresNames(t *testing.T) {
	if _, err := Mint(Request{Number: 1, NotBefore: start, NotAfter: after(day)}); err == nil {
		t.Error("a certificate without names was minted")
	}
}

func TestNoSecretCanSign(t *testing.T) {
	first, second, third := minted(t, 1, start), minted(t, 2, after(60*day)), minted(t, 3, after(60*day))
	secret := secretWith(t, first).next(second, start).promoted(start).next(third, start).Secret
	for key, value := range secret.Data {
		for block, rest := pem.Decode(value); block != nil; block, rest = pem.Decode(rest) {
			if block.Type == "CERTIFICATE" {
				continue
			}
			signer, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			if err != nil {
				t.Fatalf("%s holds a %s that is no key: %v", key, block.Type, err)
			}
			for _, ca := range parse(slices.Concat(secret.Data[wellknown.KeyCA], secret.Data[wellknown.KeyPreviousCAs], secret.Data[wellknown.KeyNextCA])) {
				same := ca.PublicKey.(*ecdsa.PublicKey).Equal(signer.(*ecdsa.PrivateKey).Public())
				installtest.Same(t, key+" holds the private key of the CA "+ca.Subject.String(), false, same)
			}
		}
	}
}

func TestDNSNames(t *testing.T) {
	want := []string{"manager-service.shop", "manager-service.shop.svc", "manager-service.shop.svc.cluster.local"}
	installtest.Same(t, "names", want, DNSNames("manager-service", "shop"))
}
