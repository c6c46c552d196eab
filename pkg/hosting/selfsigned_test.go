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
	files := pairFiles{cert: cert, key: key, ca: ca}
	hosts := []string{"webhooks.shop.svc", "127.0.0.1"}
	made := func(hosts ...string) []byte {
		t.Helper()
		if err := makeSelfSigned(files, hosts, selfSignedLife, selfSignedSpare); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(cert)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}

	first := made(hosts...)
	if err := files.read().problem(hosts, time.Now()); err != nil {
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
	if kept := made("127.0.0.1"); files.read().problem([]string{"127.0.0.1"}, time.Now()) != nil {
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

	joined := joinAuthorities(own, bytes.Join([][]byte{other, expired, own, []byte("no certificate")}, nil), nil, now)
	if want := append(append([]byte{}, own...), other...); !bytes.Equal(joined, want) {
		t.Errorf("joined\n%s\nwant\n%s", joined, want)
	}
	if again := joinAuthorities(own, joined, nil, now); !bytes.Equal(again, joined) {
		t.Errorf("joining again changed the bundle:\n%s", again)
	}
}

// A replica's CA stays however often the others restart, while its pod may exist.
func TestOnlyCAsThatNobodyServesLeaveTheBundle(t *testing.T) {
	now := time.Now()
	caOf := func(pod string) []byte {
		t.Helper()
		pair, err := mintSelfSigned([]string{"127.0.0.1"}, pod, now, renewedLife)
		if err != nil {
			t.Fatal(err)
		}
		return pair.ca
	}
	kept := [][]byte{caOf(""), caOf(podOwner("shop", "runs")), caOf(podOwner("elsewhere", "ended"))}
	ended := [][]byte{caOf(podOwner("shop", "ended")), caOf(podOwner("shop", "ended-too"))}
	bundle := bytes.Join(append(kept, ended...), nil)
	for range 20 {
		bundle = joinAuthorities(caOf(podOwner("shop", "restarts")), bundle, nil, now)
	}
	if got, want := len(certificatesIn(bundle)), len(kept)+len(ended)+20; got != want {
		t.Errorf("without a list of pods %d CAs are left of %d", got, want)
	}
	pods := &livePods{namespace: "shop", uids: map[string]bool{"runs": true, "restarts": true}}
	bundle = joinAuthorities(caOf(podOwner("shop", "restarts")), bundle, pods, now)
	for i, ca := range kept {
		if !bytes.Contains(bundle, bytes.TrimSpace(ca)) {
			t.Errorf("CA %d has left the bundle, and its pod may exist", i)
		}
	}
	for i, ca := range ended {
		if bytes.Contains(bundle, bytes.TrimSpace(ca)) {
			t.Errorf("CA %d is still in the bundle, and its pod does not exist", i)
		}
	}
}
