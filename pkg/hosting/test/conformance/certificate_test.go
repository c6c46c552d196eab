package conformance

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/client-go/util/cert"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// The files are replaced several times, each time by a certificate of another CA, as the kubelet replaces the files
// of a Secret. No call fails, and each new certificate is served in the end.
func TestCertificateIsReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	for name, allCAs := range map[string]bool{"the CA file has all CAs": true, "the CA file has the CA of the certificate": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			namespace, client := newNamespace(t, "certificate")
			address := newAddress()
			pairs := []pair{newPair(t, address), newPair(t, address), newPair(t, address)}
			bundle := slices.Concat(pairs[0].ca, pairs[1].ca, pairs[2].ca)
			for i := range pairs {
				if allCAs {
					pairs[i].ca = bundle
				}
			}
			volume := secretVolume{dir: t.TempDir()}
			h := launch(t, judgingIn(namespace), address, "--register-webhooks", "--self-signed-certificate=false", "--cert-dir="+volume.dir)
			hostingtest.Eventually(t, "the host reports that it has no certificate", func() bool {
				_, body := h.get(t, "/readyz")
				return bytes.Contains([]byte(body), []byte("[-]certificate failed: certificate "+volume.dir))
			})
			volume.mount(t, pairs[0])
			h.waitUntilReady(t)
			waitUntilCalled(t, client, namespace)
			load := startLoad(t, client, namespace)

			for _, p := range pairs {
				volume.mount(t, p)
				hostingtest.Eventually(t, "new connections get the new certificate", func() bool {
					return bytes.Equal(served(t, address+":9443", address, caBundleOf(t, client, namespace)), p.leaf)
				})
				load.another(t, 50)
			}
			load.wantNoneFailed(t)
		})
	}
}

func TestChainIsReplaced(t *testing.T) {
	address := newAddress()
	whole := newPair(t, address)
	leafAlone := whole
	leafAlone.cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: whole.leaf})
	volume := secretVolume{dir: t.TempDir()}
	volume.mount(t, leafAlone)
	h := launch(t, judging(), address, "--self-signed-certificate=false", "--cert-dir="+volume.dir)
	h.waitUntilReady(t)

	chain := func() []*x509.Certificate { return dialHost(t, h).ConnectionState().PeerCertificates }
	if got := chain(); len(got) != 1 || !bytes.Equal(got[0].Raw, whole.leaf) {
		t.Fatalf("at first, there are %d certificates", len(got))
	}
	volume.mount(t, whole)
	hostingtest.Eventually(t, "the authority is served, too", func() bool {
		got := chain()
		return len(got) == 2 && bytes.Equal(got[0].Raw, whole.leaf)
	})
}

// served returns the certificate of a new connection, which a client that trusts the bundle must accept.
func served(t *testing.T, address, serverName string, bundle []byte) []byte {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots, ServerName: serverName})
	if err != nil {
		t.Fatalf("a connection failed: %v", err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Raw
}

type pair struct {
	cert, key, ca []byte // PEM, the certificate with its CA
	leaf          []byte // DER
}

func newPair(t *testing.T, host string) pair {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	hostingtest.Must(t, err)
	chain, err := cert.ParseCertsPEM(certificate)
	hostingtest.Must(t, err)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[1].Raw})
	return pair{certificate, key, ca, chain[0].Raw}
}

// secretVolume is a directory that is updated like a Secret volume, by one symbolic link.
type secretVolume struct {
	dir    string
	mounts int
}

func (v *secretVolume) mount(t *testing.T, p pair) {
	t.Helper()
	v.mounts++
	version := fmt.Sprintf("..%d", v.mounts)
	hostingtest.Must(t, os.Mkdir(filepath.Join(v.dir, version), 0o700))
	hostingtest.Must(t, os.Symlink(version, filepath.Join(v.dir, "..tmp")))
	for name, data := range map[string][]byte{"tls.crt": p.cert, "tls.key": p.key, "ca.crt": p.ca} {
		hostingtest.Must(t, os.WriteFile(filepath.Join(v.dir, version, name), data, 0o600))
		if v.mounts == 1 {
			hostingtest.Must(t, os.Symlink("..data/"+name, filepath.Join(v.dir, name)))
		}
	}
	hostingtest.Must(t, os.Rename(filepath.Join(v.dir, "..tmp"), filepath.Join(v.dir, "..data")))
	if v.mounts > 1 {
		hostingtest.Must(t, os.RemoveAll(filepath.Join(v.dir, fmt.Sprintf("..%d", v.mounts-1))))
	}
}
