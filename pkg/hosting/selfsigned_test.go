package hosting

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSelfSignedCertificateIsKeptWhileItIsGood(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	cert, key, ca := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	hosts := []string{"webhooks.shop.svc", "127.0.0.1"}
	made := func(hosts ...string) []byte {
		t.Helper()
		if err := makeSelfSigned(cert, key, ca, hosts); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(cert)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}

	first := made(hosts...)
	if err := selfSignedProblem(cert, key, ca, hosts, time.Now()); err != nil {
		t.Errorf("what was made is not trusted: %v", err)
	}
	if !bytes.Equal(first, made(hosts...)) {
		t.Error("a good certificate was made anew")
	}
	if bytes.Equal(first, made("webhooks.elsewhere.svc")) {
		t.Error("a certificate for other hosts was kept")
	}

	old, oldKey, oldCA := mint(t, time.Now().Add(selfSignedSpare/2-selfSignedLife))
	write(t, cert, old)
	write(t, key, oldKey)
	write(t, ca, oldCA)
	if bytes.Equal(old, made("127.0.0.1")) {
		t.Error("a certificate that ends soon was kept")
	}
	write(t, ca, oldCA)
	if kept := made("127.0.0.1"); selfSignedProblem(cert, key, ca, []string{"127.0.0.1"}, time.Now()) != nil {
		t.Errorf("a certificate of another authority was kept:\n%s", kept)
	}
	for _, file := range []string{cert, key, ca} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", file, info.Mode(), err)
		}
	}
}

func TestJoinAuthorities(t *testing.T) {
	now := time.Now()
	_, _, own := mint(t, now)
	_, _, other := mint(t, now)
	_, _, expired := mint(t, now.Add(-2*selfSignedLife))

	joined := joinAuthorities(own, bytes.Join([][]byte{other, expired, own, []byte("no certificate")}, nil), now)
	if want := append(append([]byte{}, own...), other...); !bytes.Equal(joined, want) {
		t.Errorf("joined\n%s\nwant\n%s", joined, want)
	}
	if again := joinAuthorities(own, joined, now); !bytes.Equal(again, joined) {
		t.Errorf("joining again changed the bundle:\n%s", again)
	}

	bundle := own
	for range maxAuthorities + 3 {
		_, _, another := mint(t, now)
		bundle = joinAuthorities(another, bundle, now)
		if !bytes.HasPrefix(bundle, another) {
			t.Fatal("one's own authority is not the first")
		}
	}
	if got := len(certificatesIn(bundle)); got != maxAuthorities {
		t.Errorf("%d authorities, want %d", got, maxAuthorities)
	}
}
