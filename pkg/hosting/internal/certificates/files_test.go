package certificates

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

type changes int

func (c *changes) Enqueue() { *c++ }

func TestFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	f := &Files{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	var notified changes
	f.AddListener(&notified)
	read := func(what string, wantErr bool, want changes) {
		t.Helper()
		if err := f.RunOnce(t.Context()); (err != nil) != wantErr {
			t.Errorf("%s: error is %v", what, err)
		}
		if notified != want {
			t.Errorf("%s: %d changes were notified, want %d", what, notified, want)
		}
	}
	serves := func(want []byte) {
		t.Helper()
		if got, _ := f.CurrentCertKeyContent(); string(got) != string(want) {
			t.Errorf("serving\n%s\nwant\n%s", got, want)
		}
	}

	read("no files", true, 0)
	if err := f.Check(time.Now()); err == nil || !strings.Contains(err.Error(), "tls.crt") {
		t.Errorf("with no files, /readyz reports %v", err)
	}

	first := newPair(t, time.Now())
	write(t, f.CertFile, first.Cert)
	write(t, f.KeyFile, first.Key)
	read("first files", false, 1)
	must(t, f.Check(time.Now()))
	read("the same files", false, 1)

	chain := slices.Concat(first.Cert, first.CA)
	write(t, f.CertFile, chain)
	read("only the chain is new", false, 2)
	serves(chain)

	renewed := newPair(t, time.Now())
	write(t, f.CertFile, renewed.Cert)
	read("half of the new pair", true, 2)
	serves(chain)
	must(t, f.Check(time.Now()))
	write(t, f.KeyFile, renewed.Key)
	read("the new pair", false, 3)
	serves(renewed.Cert)

	must(t, os.Remove(f.CertFile))
	read("deleted files", true, 3)
	serves(renewed.Cert)
}

func TestHeldFiles(t *testing.T) {
	dir := t.TempDir()
	f := &Files{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	f.Hold()
	var notified changes
	f.AddListener(&notified)
	store := func(signed time.Time) Pair {
		t.Helper()
		p := newPair(t, signed)
		write(t, f.CertFile, p.Cert)
		write(t, f.KeyFile, p.Key)
		must(t, f.RunOnce(t.Context()))
		return p
	}
	now := time.Now()
	if first := store(now.Add(-2 * StaticValidity)); !f.Current().Equal(first) {
		t.Error("the first pair is held")
	}
	valid := store(now)
	if !f.Current().Equal(valid) {
		t.Error("a pair is held although the current one has expired")
	}
	store(now)
	next := store(now)
	if !f.Current().Equal(valid) || !f.Next().Equal(next) || notified != 4 {
		t.Errorf("a pair is not held, or not announced: %d changes were notified", notified)
	}
	if f.Serve(valid); !f.Current().Equal(valid) {
		t.Error("another pair is served than was asked for")
	}
	if f.Serve(next); !f.Current().Equal(next) || !f.Next().Equal(next) || notified != 5 {
		t.Errorf("the pair is not served, or not announced: %d changes were notified", notified)
	}
}

func TestFilesReportAnInvalidCertificate(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	signed := newPair(t, now)
	pair, err := tls.X509KeyPair(signed.Cert, signed.Key)
	must(t, err)
	f := &Files{current: loadedPair{leaf: pair.Leaf}}
	for name, test := range map[string]struct {
		at   time.Time
		want string
	}{
		"before":   {pair.Leaf.NotBefore.Add(-time.Second), "not valid before"},
		"first":    {pair.Leaf.NotBefore, ""},
		"last":     {pair.Leaf.NotAfter, ""},
		"too late": {pair.Leaf.NotAfter.Add(time.Second), "expired"},
	} {
		t.Run(name, func(t *testing.T) {
			err := f.Check(test.at)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func newPair(t *testing.T, now time.Time) Pair {
	t.Helper()
	pair, err := SelfSigned([]string{"127.0.0.1"}, "", now, StaticValidity)
	must(t, err)
	return pair
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(file, data, 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
