package httpserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// selfSignedValidity is the validity of a certificate that this process signs itself.
	selfSignedValidity = 365 * 24 * time.Hour
	// rereadPeriod is how often, at most, the files of a certificate are read again.
	rereadPeriod = 10 * time.Second
)

// SelfSignedTLS keeps the key in memory. It creates a new certificate when a third of the validity is left.
func SelfSignedTLS(host string) (*tls.Config, error) { return fromItself(host).config() }

// FilesTLS serves two PEM files, read again when they change; the previous ones if they cannot be read.
func FilesTLS(certFile, keyFile string, log *logrus.Entry) (*tls.Config, error) {
	return fromFiles(certFile, keyFile, func(err error) { log.WithError(err).Warn("the previous metrics certificate is served") }).config()
}

func fromItself(host string) *renewed {
	return &renewed{
		make: func(now time.Time) (*tls.Certificate, error) { return selfSigned(host, now) },
		due: func(c *tls.Certificate, now time.Time) bool {
			return now.After(c.Leaf.NotAfter.Add(-selfSignedValidity / 3))
		},
		warn: func(error) {},
	}
}

func fromFiles(certFile, keyFile string, warn func(error)) *renewed {
	var readAt time.Time
	return &renewed{
		make: func(now time.Time) (*tls.Certificate, error) {
			readAt = now
			pair, err := tls.LoadX509KeyPair(certFile, keyFile)
			if err != nil {
				return nil, fmt.Errorf("metrics certificate: %w", err)
			}
			return &pair, nil
		},
		due:  func(_ *tls.Certificate, now time.Time) bool { return now.Sub(readAt) >= rereadPeriod },
		warn: warn,
	}
}

type renewed struct {
	make func(now time.Time) (*tls.Certificate, error)
	due  func(current *tls.Certificate, now time.Time) bool
	warn func(error)

	mu      sync.Mutex
	current *tls.Certificate
	failed  string // the last error, to report it once
}

func (r *renewed) config() (*tls.Config, error) {
	if _, err := r.at(time.Now()); err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return r.at(time.Now()) },
	}, nil
}

func (r *renewed) at(now time.Time) (*tls.Certificate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil && !r.due(r.current, now) {
		return r.current, nil
	}
	fresh, err := r.make(now)
	if err == nil {
		r.current, r.failed = fresh, ""
		return fresh, nil
	}
	if r.current == nil {
		return nil, err
	}
	if r.failed != err.Error() {
		r.warn(err)
	}
	r.failed = err.Error()
	return r.current, nil
}

func selfSigned(host string, now time.Time) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{ // its serial number is random
		Subject:     pkix.Name{CommonName: host},
		DNSNames:    []string{host},
		NotBefore:   now.Add(-time.Hour), // clocks of scrapers may be behind
		NotAfter:    now.Add(selfSignedValidity),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, nil
}
