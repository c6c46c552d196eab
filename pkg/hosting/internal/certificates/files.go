// Package certificates provides the serving certificate: reading it from files, signing it, and
// sharing it between replicas in a Secret.
package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"
)

// rereadPeriod is the interval at which the files are compared with the certificate that is served.
// Reading is simpler than a watch: the kubelet replaces the files behind two symbolic links.
const rereadPeriod = time.Second

// Files is the serving certificate and key in two files. Unlike the DynamicCertKeyPairContent of
// dynamiccertificates, it accepts files that are missing at the start, and reports why. If the files
// are missing or do not match, the previous pair is served.
type Files struct {
	certFile, keyFile string

	mu        sync.RWMutex
	cert, key []byte
	leaf      *x509.Certificate
	problem   error
	listeners []dynamiccertificates.Listener
}

var (
	_ dynamiccertificates.CertKeyContentProvider = (*Files)(nil)
	_ dynamiccertificates.ControllerRunner       = (*Files)(nil)
)

// NewFiles returns the pair of two files. Call Run or RunOnce to read them.
func NewFiles(certFile, keyFile string) *Files {
	return &Files{certFile: certFile, keyFile: keyFile}
}

// CertFile returns the path of the certificate.
func (f *Files) CertFile() string { return f.certFile }

// KeyFile returns the path of the key.
func (f *Files) KeyFile() string { return f.keyFile }

// Name returns the name of the provider in the log.
func (f *Files) Name() string { return f.certFile }

// CurrentCertKeyContent returns the certificate and key to serve, or nothing if none was read yet.
func (f *Files) CurrentCertKeyContent() (cert, key []byte) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.cert, f.key
}

// AddListener adds a listener for changes.
func (f *Files) AddListener(l dynamiccertificates.Listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners = append(f.listeners, l)
}

// Run reads the files until ctx ends.
func (f *Files) Run(ctx context.Context, _ int) {
	wait.UntilWithContext(ctx, func(ctx context.Context) { _ = f.RunOnce(ctx) }, rereadPeriod)
}

// RunOnce reads the files once. It keeps the error for Check, and logs a new error.
func (f *Files) RunOnce(context.Context) error {
	cert, key, err := f.read()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && bytes.Equal(cert, f.cert) && bytes.Equal(key, f.key) {
		f.problem = nil
		return nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.X509KeyPair(cert, key)
	}
	if err != nil {
		f.setProblem(fmt.Errorf("certificate %s with key %s: %w", f.certFile, f.keyFile, err))
		return f.problem
	}
	f.cert, f.key, f.leaf, f.problem = cert, key, pair.Leaf, nil
	klog.InfoS("Serving certificate", "serial", pair.Leaf.SerialNumber.Text(16), "file", f.certFile, "expires", expiry(pair.Leaf))
	for _, l := range f.listeners {
		l.Enqueue()
	}
	return nil
}

func (f *Files) read() (cert, key []byte, err error) {
	if cert, err = os.ReadFile(f.certFile); err != nil {
		return nil, nil, err
	}
	key, err = os.ReadFile(f.keyFile)
	return cert, key, err
}

func (f *Files) setProblem(problem error) {
	if f.problem == nil || f.problem.Error() != problem.Error() {
		klog.ErrorS(problem, "Cannot load the serving certificate")
	}
	f.problem = problem
}

// Check returns the reason why no client trusts the certificate that is served, or nil.
func (f *Files) Check(now time.Time) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	switch {
	case f.leaf == nil && f.problem != nil:
		return f.problem
	case f.leaf == nil:
		return errors.New("no certificate has been loaded yet")
	case now.After(f.leaf.NotAfter):
		return fmt.Errorf("the certificate in %s expired at %s: renew the file, which the process reads again", f.certFile, expiry(f.leaf))
	case now.Before(f.leaf.NotBefore):
		return fmt.Errorf("the certificate in %s is not valid before %s", f.certFile, f.leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// Expiry returns when the certificate expires, or zero if there is none.
func (f *Files) Expiry() time.Time {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.leaf == nil {
		return time.Time{}
	}
	return f.leaf.NotAfter
}

func expiry(leaf *x509.Certificate) string {
	return leaf.NotAfter.UTC().Format(time.RFC3339)
}
