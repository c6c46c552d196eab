package hosting

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// changes counts how often a certificate told of a change.
type changes int

func (c *changes) Enqueue() { *c++ }

func TestCertificateFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	c := &certificate{certFile: filepath.Join(dir, "tls.crt"), keyFile: filepath.Join(dir, "tls.key")}
	var told changes
	c.AddListener(&told)
	look := func(what string, wantErr bool, wantTold changes) {
		t.Helper()
		if err := c.RunOnce(t.Context()); (err != nil) != wantErr {
			t.Errorf("%s: error is %v", what, err)
		}
		if told != wantTold {
			t.Errorf("%s: told of %d changes, want %d", what, told, wantTold)
		}
	}
	serves := func(want []byte) {
		t.Helper()
		if got, _ := c.CurrentCertKeyContent(); string(got) != string(want) {
			t.Errorf("serving\n%s\nwant\n%s", got, want)
		}
	}

	look("no files", true, 0)
	if err := c.servable(time.Now()); err == nil || !strings.Contains(err.Error(), "tls.crt") {
		t.Errorf("with no files, /readyz says %v", err)
	}

	cert, key, ca := mint(t, time.Now())
	write(t, c.certFile, cert)
	write(t, c.keyFile, key)
	look("first files", false, 1)
	if err := c.servable(time.Now()); err != nil {
		t.Error(err)
	}
	look("the same files", false, 1)

	chain := append(append([]byte{}, cert...), ca...)
	write(t, c.certFile, chain)
	look("only the chain is new", false, 2)
	serves(chain)

	renewed, newKey, _ := mint(t, time.Now())
	write(t, c.certFile, renewed)
	look("half of the new pair", true, 2)
	serves(chain)
	if err := c.servable(time.Now()); err != nil {
		t.Errorf("the old pair is good still: %v", err)
	}
	write(t, c.keyFile, newKey)
	look("the new pair", false, 3)
	serves(renewed)

	if err := os.Remove(c.certFile); err != nil {
		t.Fatal(err)
	}
	look("files gone", true, 3)
	serves(renewed)
}

func TestCertificateIsServableWhileItIsValid(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	cert, key, _ := mint(t, now)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	c := &certificate{leaf: pair.Leaf}
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
			err := c.servable(test.at)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

func mint(t *testing.T, now time.Time) (cert, key, ca []byte) {
	t.Helper()
	pair, err := mintSelfSigned([]string{"127.0.0.1"}, "", now, selfSignedLife)
	if err != nil {
		t.Fatal(err)
	}
	return pair.cert, pair.key, pair.ca
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
