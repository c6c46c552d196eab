package hosting

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/klog/v2"
)

const (
	// selfSignedLife is long because nobody renews the certificate while the process
	// runs, and nobody could misuse its authority: that key is never written down.
	selfSignedLife = 10 * 365 * 24 * time.Hour
	// selfSignedSpare is what must be left of a certificate that is there already.
	selfSignedSpare = 30 * 24 * time.Hour
)

// makeSelfSigned writes a certificate for the hosts and the authority that signed it,
// unless the files hold good ones: a container that starts anew in its pod keeps the
// identity that the API servers trust.
func makeSelfSigned(certFile, keyFile, caFile string, hosts []string) error {
	why := selfSignedProblem(certFile, keyFile, caFile, hosts, time.Now().Add(selfSignedSpare))
	if why == nil {
		return nil
	}
	klog.Infof("Making a self-signed certificate in %s: %v", certFile, why)
	cert, key, ca, err := mintSelfSigned(hosts, time.Now())
	if err != nil {
		return fmt.Errorf("--self-signed-certificate: %w", err)
	}
	for _, file := range []struct {
		path string
		data []byte
	}{{caFile, ca}, {keyFile, key}, {certFile, cert}} {
		if err := os.MkdirAll(filepath.Dir(file.path), 0o700); err != nil {
			return fmt.Errorf("--self-signed-certificate needs a --cert-dir to write to: %w", err)
		}
		if err := os.WriteFile(file.path, file.data, 0o600); err != nil {
			return fmt.Errorf("--self-signed-certificate needs a --cert-dir to write to: %w", err)
		}
	}
	return nil
}

// selfSignedProblem is what makes the files no good until then, or nil.
func selfSignedProblem(certFile, keyFile, caFile string, hosts []string, until time.Time) error {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for _, host := range hosts {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: until}); err != nil {
			return err
		}
	}
	return nil
}

// mintSelfSigned returns a certificate, its key and its authority, all in PEM.
func mintSelfSigned(hosts []string, now time.Time) (cert, key, ca []byte, err error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, nil, err
	}
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: hosts[0] + " webhook authority"},
		NotBefore:             now.Add(-time.Hour), // clocks differ
		NotAfter:              now.Add(selfSignedLife),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
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
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	if err != nil {
		return nil, nil, nil, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, leafKey.Public(), caKey)
	if err != nil {
		return nil, nil, nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return nil, nil, nil, err
	}
	return inPEM("CERTIFICATE", leafDER), inPEM("PRIVATE KEY", keyDER), inPEM("CERTIFICATE", caDER), nil
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
