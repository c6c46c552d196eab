package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

// certificate is the serving certificate in a folder. Whoever renews it writes
// the files; the next handshake then serves it, without a restart.
type certificate struct {
	certFile, keyFile string

	mu      sync.Mutex
	current *tls.Certificate
	version fileVersions
}

// fileVersions tells one state of the two files from the next. Times are
// compared for being different and not for being later: files that are swapped
// in may be older than those they replace.
type fileVersions struct {
	cert, key time.Time
}

func newCertificate(dir string) *certificate {
	return &certificate{
		certFile: filepath.Join(dir, "tls.crt"),
		keyFile:  filepath.Join(dir, "tls.key"),
	}
}

// Get returns the certificate that the files hold now; it is a
// tls.Config.GetCertificate. While new files cannot be read, or do not belong
// together because only one of them is written yet, the last good pair serves.
func (c *certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	err := c.reloadIfChanged()
	if c.current == nil {
		return nil, err
	}
	if err != nil {
		logrus.WithError(err).Warn("Serving the previous certificate")
	}
	return c.current, nil
}

// Loaded says why there is no certificate to serve yet; once there is one, a
// later fault in the files is no reason to stop serving it.
func (c *certificate) Loaded() error {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.current != nil {
		return nil
	}
	return c.reloadIfChanged()
}

// reloadIfChanged notes the files' times before it reads them, so that a write
// in between is seen as a change the next time.
func (c *certificate) reloadIfChanged() error {
	version, err := c.versionOnDisk()
	if err != nil {
		return err
	}
	if c.current != nil && version == c.version {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("loading the serving certificate %s: %w", c.certFile, err)
	}
	c.current, c.version = &pair, version
	logrus.WithFields(logrus.Fields{
		"serial":   pair.Leaf.SerialNumber.Text(16),
		"notAfter": pair.Leaf.NotAfter.UTC().Format(time.RFC3339),
	}).Info("Serving certificate loaded")
	return nil
}

func (c *certificate) versionOnDisk() (fileVersions, error) {
	cert, err := os.Stat(c.certFile)
	if err != nil {
		return fileVersions{}, fmt.Errorf("waiting for the serving certificate: %w", err)
	}
	key, err := os.Stat(c.keyFile)
	if err != nil {
		return fileVersions{}, fmt.Errorf("waiting for the serving certificate's key: %w", err)
	}
	return fileVersions{cert: cert.ModTime(), key: key.ModTime()}, nil
}
