package certificates

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/pod"
)

func TestEnsureSelfSignedKeepsAGoodCertificate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	files := PairFiles{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), CA: filepath.Join(dir, "ca.crt")}
	hosts := []string{"webhooks.shop.svc", "127.0.0.1"}
	ensure := func(hosts ...string) []byte {
		t.Helper()
		must(t, EnsureSelfSigned(files, hosts, StaticValidity, StaticRemaining))
		return files.Read().Cert
	}

	first := ensure(hosts...)
	must(t, files.Read().Check(hosts, time.Now()))
	if !bytes.Equal(first, ensure(hosts...)) {
		t.Error("a good certificate was replaced")
	}
	if bytes.Equal(first, ensure("webhooks.elsewhere.svc")) {
		t.Error("a certificate for other hosts was kept")
	}

	old := newPair(t, time.Now().Add(StaticRemaining/2-StaticValidity))
	must(t, files.Write(old))
	if bytes.Equal(old.Cert, ensure("127.0.0.1")) {
		t.Error("a certificate that expires soon was kept")
	}
	write(t, files.CA, old.CA)
	if kept := ensure("127.0.0.1"); files.Read().Check([]string{"127.0.0.1"}, time.Now()) != nil {
		t.Errorf("a certificate of another authority was kept:\n%s", kept)
	}
	for _, file := range []string{files.Cert, files.Key, files.CA} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", file, info.Mode(), err)
		}
	}
}

func TestJoinBundles(t *testing.T) {
	now := time.Now()
	own, other, expired := newPair(t, now).CA, newPair(t, now).CA, newPair(t, now.Add(-2*StaticValidity)).CA

	joined := JoinBundles(own, slices.Concat(other, expired, own, []byte("no certificate")), nil, now)
	if want := slices.Concat(own, other); !bytes.Equal(joined, want) {
		t.Errorf("joined\n%s\nwant\n%s", joined, want)
	}
	if again := JoinBundles(own, joined, nil, now); !bytes.Equal(again, joined) {
		t.Errorf("joining again changed the bundle:\n%s", again)
	}
}

func TestOnlyCAsOfDeletedPodsLeaveTheBundle(t *testing.T) {
	now := time.Now()
	caOf := func(owner string) []byte {
		t.Helper()
		pair, err := SelfSigned([]string{"127.0.0.1"}, owner, now, RenewedValidity)
		must(t, err)
		return pair.CA
	}
	kept := [][]byte{caOf(""), caOf(pod.Owner("shop", "runs")), caOf(pod.Owner("elsewhere", "ended"))}
	ended := [][]byte{caOf(pod.Owner("shop", "ended")), caOf(pod.Owner("shop", "ended-too"))}
	bundle := bytes.Join(append(kept, ended...), nil)
	for range 20 {
		bundle = JoinBundles(caOf(pod.Owner("shop", "restarts")), bundle, nil, now)
	}
	if got, want := len(certificatesIn(bundle)), len(kept)+len(ended)+20; got != want {
		t.Errorf("without a list of pods %d CAs are left of %d", got, want)
	}
	pods := pod.NewList("shop", "runs", "restarts")
	bundle = JoinBundles(caOf(pod.Owner("shop", "restarts")), bundle, pods, now)
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
