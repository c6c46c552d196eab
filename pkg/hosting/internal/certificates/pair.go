package certificates

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Pair is a serving certificate, its key and the CA that signed it, in PEM.
type Pair struct{ Cert, Key, CA []byte }

// Equal reports whether two pairs have the same certificate and key.
func (p Pair) Equal(other Pair) bool {
	return bytes.Equal(p.Cert, other.Cert) && bytes.Equal(p.Key, other.Key)
}

// Check returns the reason why no client would trust the certificate for the hosts at that time, or nil.
func (p Pair) Check(hosts []string, at time.Time) error {
	if _, err := tls.X509KeyPair(p.Cert, p.Key); err != nil {
		return err
	}
	for _, host := range hosts {
		if err := Verify(p.CA, p.Cert, host, at); err != nil {
			return err
		}
	}
	return nil
}

// Verify returns the reason why a client that trusts a bundle does not trust a chain for a host at that time, or nil.
func Verify(bundle, chain []byte, host string, at time.Time) error {
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

// PairFiles are the files of a Pair.
type PairFiles struct{ Cert, Key, CA string }

// Read returns the content of the files. A file that cannot be read counts as empty.
func (f PairFiles) Read() (p Pair) {
	for file, data := range map[string]*[]byte{f.Cert: &p.Cert, f.Key: &p.Key, f.CA: &p.CA} {
		// Check reports a missing file.
		*data, _ = os.ReadFile(file) //nolint:gosec // G304: the administrator names the files
	}
	return p
}

// Write replaces the files. A reader between two writes reads a key that does not match.
func (f PairFiles) Write(p Pair) error {
	for _, file := range []struct {
		path string
		data []byte
	}{{f.CA, p.CA}, {f.Key, p.Key}, {f.Cert, p.Cert}} {
		if err := cmp.Or(os.MkdirAll(filepath.Dir(file.path), 0o700), os.WriteFile(file.path, file.data, 0o600)); err != nil {
			return fmt.Errorf("--self-signed-certificate needs a --cert-dir to write to: %w", err)
		}
	}
	return nil
}
