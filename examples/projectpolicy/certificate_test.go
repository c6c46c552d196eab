package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCertificateFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	cert := newCertificate(dir)
	wantSerial := func(want int64) {
		t.Helper()
		got, err := cert.Get(nil)
		if err != nil {
			t.Fatalf("no certificate: %v", err)
		}
		if got.Leaf.SerialNumber.Int64() != want {
			t.Errorf("serving certificate %d, want %d", got.Leaf.SerialNumber, want)
		}
	}

	if err := cert.Loaded(); err == nil || !strings.Contains(err.Error(), "waiting for the serving certificate") {
		t.Errorf("before there are files: %v", err)
	}
	if _, err := cert.Get(nil); err == nil {
		t.Error("a handshake without a certificate must fail")
	}

	first := mint(t, 1)
	first.write(t, dir)
	if err := cert.Loaded(); err != nil {
		t.Errorf("with both files there: %v", err)
	}
	wantSerial(1)

	// Renewed, as the kubelet does it: by files that are swapped in, here with
	// an older time than the ones they replace.
	second := mint(t, 2)
	second.write(t, dir)
	setTime(t, dir, time.Now().Add(-time.Hour))
	wantSerial(2)

	// Half written: the certificate is new and the key is not.
	third := mint(t, 3)
	write(t, filepath.Join(dir, "tls.crt"), third.cert)
	wantSerial(2)
	if err := cert.Loaded(); err != nil {
		t.Errorf("while a renewal is half written: %v", err)
	}
	write(t, filepath.Join(dir, "tls.key"), third.key)
	wantSerial(3)

	// Gone altogether.
	if err := os.Remove(filepath.Join(dir, "tls.crt")); err != nil {
		t.Fatal(err)
	}
	wantSerial(3)
}

// keyPair is a serving certificate for 127.0.0.1, trusted by itself, in PEM.
type keyPair struct{ cert, key []byte }

func mint(t *testing.T, serial int64) keyPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: "projectpolicy"},
		NotBefore:    time.Now().Add(-time.Minute),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return keyPair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}),
	}
}

func (p keyPair) write(t *testing.T, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "tls.crt"), p.cert)
	write(t, filepath.Join(dir, "tls.key"), p.key)
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func setTime(t *testing.T, dir string, at time.Time) {
	t.Helper()
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
}
