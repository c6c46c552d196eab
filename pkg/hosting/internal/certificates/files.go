// Package certificates provides the serving certificate: reading it from files, signing it, and
// sharing it between replicas in a Secret.
package certificates

import (
	"cmp"
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

// rereadPeriod is for reading, which is simpler than a watch: kubelets replace files behind two symbolic links.
const rereadPeriod = time.Second

// Files is the serving certificate and key in two files. Unlike the DynamicCertKeyPairContent of
// dynamiccertificates, it accepts files that are missing at the start, and reports why. If the files
// are missing or do not match, the previous pair is served. Run and RunOnce read them.
type Files struct {
	CertFile, KeyFile string

	mu            sync.RWMutex
	held          bool
	current, next loadedPair // next is empty, or waits for Serve
	problem       error
	listeners     []dynamiccertificates.Listener
}

type loadedPair struct {
	Pair // without its CA

	leaf *x509.Certificate
}

var (
	_ dynamiccertificates.CertKeyContentProvider = (*Files)(nil)
	_ dynamiccertificates.ControllerRunner       = (*Files)(nil)
)

// Name returns the name of the provider in the log.
func (f *Files) Name() string { return f.CertFile }

// CurrentCertKeyContent returns the certificate and key to serve, or nothing if none was read yet.
func (f *Files) CurrentCertKeyContent() (cert, key []byte) {
	current := f.Current()
	return current.Cert, current.Key
}

// Hold keeps a new pair from being served until Serve is called, or the current certificate expires.
func (f *Files) Hold() { f.held = true }

// Current returns the pair that is served, without its CA.
func (f *Files) Current() Pair {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.current.Pair
}

// Next returns the pair that was read last, without its CA.
func (f *Files) Next() Pair {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.next.leaf != nil {
		return f.next.Pair
	}
	return f.current.Pair
}

// Serve serves a pair that Next returned, unless the files have changed since.
func (f *Files) Serve(pair Pair) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next.leaf != nil && f.next.Equal(pair) {
		f.serve(f.next)
	}
}

// AddListener adds a listener for changes of the current and of the next pair.
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
	read, err := f.read()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.setProblem(fmt.Errorf("certificate %s with key %s: %w", f.CertFile, f.KeyFile, err))
	} else {
		f.problem = nil
		f.replace(read, time.Now())
	}
	return f.problem
}

func (f *Files) replace(read loadedPair, now time.Time) {
	switch {
	case read.Equal(f.current.Pair):
		f.next = loadedPair{}
	case !f.held || f.current.leaf == nil || now.After(f.current.leaf.NotAfter):
		f.serve(read)
	case !read.Equal(f.next.Pair):
		f.next = read
		klog.InfoS("Holding the new certificate until the registrations trust it", "serial", read.leaf.SerialNumber.Text(16), "file", f.CertFile)
		f.notify()
	}
}

func (f *Files) serve(pair loadedPair) {
	f.current, f.next = pair, loadedPair{}
	klog.InfoS("Serving certificate", "serial", pair.leaf.SerialNumber.Text(16), "file", f.CertFile, "expires", expiry(pair.leaf))
	f.notify()
}

func (f *Files) notify() {
	for _, l := range f.listeners {
		l.Enqueue()
	}
}

func (f *Files) read() (loadedPair, error) {
	cert, certErr := os.ReadFile(f.CertFile)
	key, keyErr := os.ReadFile(f.KeyFile)
	if err := cmp.Or(certErr, keyErr); err != nil {
		return loadedPair{}, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	return loadedPair{Pair{Cert: cert, Key: key}, pair.Leaf}, err
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
	case f.current.leaf == nil && f.problem != nil:
		return f.problem
	case f.current.leaf == nil:
		return errors.New("no certificate has been loaded yet")
	case now.After(f.current.leaf.NotAfter):
		return fmt.Errorf("the certificate in %s expired at %s: renew the file, which the process reads again", f.CertFile, expiry(f.current.leaf))
	case now.Before(f.current.leaf.NotBefore):
		return fmt.Errorf("the certificate in %s is not valid before %s", f.CertFile, f.current.leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// Expiry returns when the certificate expires, or zero if there is none.
func (f *Files) Expiry() time.Time {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.current.leaf == nil {
		return time.Time{}
	}
	return f.current.leaf.NotAfter
}

func expiry(leaf *x509.Certificate) string { return leaf.NotAfter.UTC().Format(time.RFC3339) }
