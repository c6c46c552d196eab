package httpserver

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestSelfSignedCertificateIsRenewed(t *testing.T) {
	now := time.Unix(2e9, 0)
	r := fromItself("manager-0")
	different := map[string]bool{}
	for day := range 3 * 365 {
		at := now.Add(time.Duration(day) * 24 * time.Hour)
		c := installtest.OrPanic(r.at(at))
		roots := x509.NewCertPool()
		roots.AddCert(c.Leaf)
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: "manager-0", Roots: roots, CurrentTime: at}); err != nil {
			t.Fatalf("day %d: %v", day, err)
		}
		different[c.Leaf.SerialNumber.String()] = true
		installtest.Same(t, "the certificate is a CA", false, c.Leaf.IsCA)
	}
	installtest.Same(t, "the number of certificates in three years", 5, len(different))
}

func TestCertificateFilesAreReadAgain(t *testing.T) {
	folder := t.TempDir()
	certFile, keyFile := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	if _, err := FilesTLS(certFile, keyFile, testLog()); err == nil {
		t.Fatal("files that do not exist are accepted at the start")
	}
	now := time.Now()
	first := writePair(t, certFile, keyFile, now)
	warned := 0
	r := fromFiles(certFile, keyFile, func(error) { warned++ })
	serves := func(after time.Duration, want *tls.Certificate) {
		t.Helper()
		got, err := r.at(now.Add(after))
		if err != nil || !got.Leaf.Equal(want.Leaf) {
			t.Errorf("after %v another certificate is served, or none: %v", after, err)
		}
	}
	serves(0, first)
	second := writePair(t, certFile, keyFile, now)
	serves(rereadPeriod-time.Second, first)
	serves(rereadPeriod, second)
	installtest.Must(t, os.WriteFile(keyFile, []byte("half"), 0o600))
	serves(2*rereadPeriod, second)
	serves(3*rereadPeriod, second)
	installtest.Same(t, "the number of reports of the same problem", 1, warned)
	serves(4*rereadPeriod, second)
	third := writePair(t, certFile, keyFile, now)
	serves(5*rereadPeriod, third)
}

func writePair(t *testing.T, certFile, keyFile string, now time.Time) *tls.Certificate {
	t.Helper()
	c := installtest.OrPanic(selfSigned("manager", now))
	key := installtest.OrPanic(x509.MarshalPKCS8PrivateKey(c.PrivateKey))
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: c.Certificate[0]},
		keyFile:  {Type: "PRIVATE KEY", Bytes: key},
	} {
		installtest.Must(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
	return c
}
