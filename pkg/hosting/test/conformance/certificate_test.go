package conformance

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

// The certificate is replaced several times under load, each time by one of another
// authority, as the kubelet replaces the files of a Secret. No call may fail, and each
// new connection gets what the files hold.
func TestCertificateIsReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	namespace := newNamespaceOf(t, "certificate")
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("judge", obeying(hosting.Validating[*corev1.ConfigMap], namespace))

	address := newAddress()
	pairs := make([]pair, 4)
	var authorities []byte
	for i := range pairs {
		pairs[i] = mint(t, address)
		authorities = append(authorities, pairs[i].cert...)
	}
	volume := secretVolume{dir: t.TempDir()}
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(caFile, authorities, 0o600); err != nil {
		t.Fatal(err)
	}

	h := launch(t, b, address, "--register-webhooks", "--self-signed-certificate=false", "--cert-dir="+volume.dir, "--webhook-ca-file="+caFile)
	eventually(t, "the host says that it has no certificate", func() bool {
		_, body := h.get(t, "/readyz")
		return bytes.Contains([]byte(body), []byte("[-]certificate failed: certificate "+volume.dir))
	})
	volume.mount(t, pairs[0])
	h.waitUntilReady(t)
	client, _ := newClient(t)
	waitUntilCalled(t, client, namespace)
	load := startLoad(t, client, namespace)

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authorities)
	for _, p := range pairs {
		volume.mount(t, p)
		eventually(t, "new connections get the new certificate", func() bool {
			return bytes.Equal(served(t, address, roots), p.leaf)
		})
		load.another(t, 50)
	}
	load.wantNoneFailed(t)
}

// The chain is served as the file holds it: what is new in it alone is new.
func TestChainIsReplaced(t *testing.T) {
	address := newAddress()
	whole := mint(t, address)
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
	eventually(t, "the authority is served, too", func() bool {
		got := chain()
		return len(got) == 2 && bytes.Equal(got[0].Raw, whole.leaf)
	})
}

// served is the certificate that a new connection gets, which the authorities must vouch
// for.
func served(t *testing.T, address string, roots *x509.CertPool) []byte {
	t.Helper()
	conn, err := tls.Dial("tcp", net.JoinHostPort(address, "9443"), &tls.Config{RootCAs: roots})
	if err != nil {
		t.Fatalf("a connection failed: %v", err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].Raw
}

type pair struct {
	cert, key []byte // PEM, the certificate with its authority
	leaf      []byte // DER
}

func mint(t *testing.T, host string) pair {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := cert.ParseCertsPEM(certificate)
	if err != nil {
		t.Fatal(err)
	}
	return pair{certificate, key, chain[0].Raw}
}

// secretVolume is a folder in which files are links through one link, which is swapped.
type secretVolume struct {
	dir    string
	mounts int
}

func (v *secretVolume) mount(t *testing.T, p pair) {
	t.Helper()
	v.mounts++
	version := fmt.Sprintf("..%d", v.mounts)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(v.dir, version), 0o700))
	must(os.WriteFile(filepath.Join(v.dir, version, "tls.crt"), p.cert, 0o600))
	must(os.WriteFile(filepath.Join(v.dir, version, "tls.key"), p.key, 0o600))
	must(os.Symlink(version, filepath.Join(v.dir, "..tmp")))
	must(os.Rename(filepath.Join(v.dir, "..tmp"), filepath.Join(v.dir, "..data")))
	if v.mounts == 1 {
		must(os.Symlink("..data/tls.crt", filepath.Join(v.dir, "tls.crt")))
		must(os.Symlink("..data/tls.key", filepath.Join(v.dir, "tls.key")))
		return
	}
	must(os.RemoveAll(filepath.Join(v.dir, fmt.Sprintf("..%d", v.mounts-1))))
}
