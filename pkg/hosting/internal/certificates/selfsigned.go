package certificates

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/klog/v2"
)

const (
	// StaticValidity is the validity of a certificate that the process does not renew while it runs.
	// The CA cannot be misused: its key is discarded.
	StaticValidity = 10 * 365 * 24 * time.Hour
	// StaticRemaining is the remaining validity at the start below which such a certificate is replaced.
	StaticRemaining = 30 * 24 * time.Hour
	// RenewedValidity is the validity of a certificate that a process renews while it runs, because it
	// registers its webhooks. An unused CA leaves the caBundles when it expires.
	RenewedValidity = 365 * 24 * time.Hour
	// RenewedRemaining is the remaining validity below which such a certificate is renewed.
	RenewedRemaining = RenewedValidity / 3
)

// EnsureSelfSigned writes a certificate for the hosts, and its CA, unless the files contain a good one: a container that
// restarts in its pod keeps the certificate that the API servers trust.
func EnsureSelfSigned(files PairFiles, hosts []string, validity, remaining time.Duration) error {
	why := files.Read().Check(hosts, time.Now().Add(remaining))
	if why == nil {
		return nil
	}
	klog.InfoS("Creating a self-signed certificate", "file", files.Cert, "reason", why)
	pair, err := SelfSigned(hosts, "", time.Now(), validity)
	if err != nil {
		return fmt.Errorf("--self-signed-certificate: %w", err)
	}
	return files.Write(pair)
}

// SelfSigned returns a certificate whose CA names the pod if only that pod serves it. The key of the CA is discarded.
// The CA of client-go's cert.GenerateSelfSignedCertKey cannot name a pod.
func SelfSigned(hosts []string, pod string, now time.Time, validity time.Duration) (Pair, error) {
	caKey, caErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	leafKey, leafErr := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := cmp.Or(caErr, leafErr); err != nil {
		return Pair{}, err
	}
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: hosts[0] + " webhook authority"},
		NotBefore:             now.Add(-time.Hour), // clocks differ
		NotAfter:              now.Add(validity),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	if pod != "" {
		authority.Subject.OrganizationalUnit = []string{pod}
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano() + 1),
		Subject:      pkix.Name{CommonName: hosts[0]},
		NotBefore:    authority.NotBefore,
		NotAfter:     authority.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	caDER, caErr := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	leafDER, leafErr := x509.CreateCertificate(rand.Reader, leaf, authority, leafKey.Public(), caKey)
	keyDER, keyErr := x509.MarshalPKCS8PrivateKey(leafKey)
	pair := Pair{Cert: inPEM("CERTIFICATE", leafDER), Key: inPEM("PRIVATE KEY", keyDER), CA: inPEM("CERTIFICATE", caDER)}
	return pair, cmp.Or(caErr, leafErr, keyErr)
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
