package hosting

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
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
	// runs, unless it registers its webhooks itself. Nobody could misuse the CA: its key is
	// never written down.
	selfSignedLife = 10 * 365 * 24 * time.Hour
	// selfSignedSpare is what must be left of a certificate that is there already.
	selfSignedSpare = 30 * 24 * time.Hour

	// renewedLife and renewedSpare are for a process that registers its webhooks, and so can
	// renew while it runs. A CA that is not used any more leaves the caBundles when it expires.
	renewedLife  = 365 * 24 * time.Hour
	renewedSpare = renewedLife / 3
)

// keyPair is a serving certificate, its key and the CA that signed it, in PEM.
type keyPair struct{ cert, key, ca []byte }

func (p keyPair) equal(other keyPair) bool {
	return bytes.Equal(p.cert, other.cert) && bytes.Equal(p.key, other.key)
}

// problem returns why no client would trust the certificate for the hosts at that time, or nil.
func (p keyPair) problem(hosts []string, at time.Time) error {
	if _, err := tls.X509KeyPair(p.cert, p.key); err != nil {
		return err
	}
	for _, host := range hosts {
		if err := verify(p.ca, p.cert, host, at); err != nil {
			return err
		}
	}
	return nil
}

// verify returns why a client that trusts the CAs of a bundle does not trust a certificate
// chain for a host at that time, or nil.
func verify(bundle, chain []byte, host string, at time.Time) error {
	blocks := certificatesIn(chain)
	if len(blocks) == 0 {
		return errors.New("there is no certificate")
	}
	leaf, err := x509.ParseCertificate(blocks[0].Bytes)
	if err != nil {
		return err
	}
	options := x509.VerifyOptions{DNSName: host, Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(), CurrentTime: at}
	options.Roots.AppendCertsFromPEM(bundle)
	options.Intermediates.AppendCertsFromPEM(chain)
	_, err = leaf.Verify(options)
	return err
}

// pairFiles are where the serving certificate is read from.
type pairFiles struct{ cert, key, ca string }

// read returns what the files hold; of one that cannot be read, nothing.
func (f pairFiles) read() (p keyPair) {
	for file, data := range map[string]*[]byte{f.cert: &p.cert, f.key: &p.key, f.ca: &p.ca} {
		*data, _ = os.ReadFile(file) // what is missing is found when the pair is judged
	}
	return p
}

// write replaces the files. Whoever reads between two of them finds a key that does not fit.
func (f pairFiles) write(p keyPair) error {
	for _, file := range []struct {
		path string
		data []byte
	}{{f.ca, p.ca}, {f.key, p.key}, {f.cert, p.cert}} {
		if err := os.MkdirAll(filepath.Dir(file.path), 0o700); err != nil {
			return fmt.Errorf("--self-signed-certificate needs a --cert-dir to write to: %w", err)
		}
		if err := os.WriteFile(file.path, file.data, 0o600); err != nil {
			return fmt.Errorf("--self-signed-certificate needs a --cert-dir to write to: %w", err)
		}
	}
	return nil
}

// makeSelfSigned writes a certificate for the hosts and the CA that signed it, unless the files
// hold good ones: a container that starts again in its pod keeps the identity that the API
// servers trust.
func makeSelfSigned(files pairFiles, hosts []string, life, spare time.Duration) error {
	why := files.read().problem(hosts, time.Now().Add(spare))
	if why == nil {
		return nil
	}
	klog.Infof("Making a self-signed certificate in %s: %v", files.cert, why)
	pair, err := mintSelfSigned(hosts, "", time.Now(), life)
	if err != nil {
		return fmt.Errorf("--self-signed-certificate: %w", err)
	}
	return files.write(pair)
}

// mintSelfSigned returns a certificate for the hosts. Its CA names the pod that alone serves it,
// if it is for one pod. The key of the CA is discarded.
func mintSelfSigned(hosts []string, pod string, now time.Time, life time.Duration) (keyPair, error) {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	authority := &x509.Certificate{
		SerialNumber:          big.NewInt(now.UnixNano()),
		Subject:               pkix.Name{CommonName: hosts[0] + " webhook authority"},
		NotBefore:             now.Add(-time.Hour), // clocks differ
		NotAfter:              now.Add(life),
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
	caDER, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	if err != nil {
		return keyPair{}, err
	}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, authority, leafKey.Public(), caKey)
	if err != nil {
		return keyPair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		return keyPair{}, err
	}
	return keyPair{cert: inPEM("CERTIFICATE", leafDER), key: inPEM("PRIVATE KEY", keyDER), ca: inPEM("CERTIFICATE", caDER)}, nil
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
