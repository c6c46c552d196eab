package hosting

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

// rereadPeriod is how often the certificate's files are compared with what is served. To
// read them is cheaper than to explain which watch was lost: the kubelet swaps them
// behind two symbolic links, and at the start they need not be there at all.
const rereadPeriod = time.Second

// certificate is what two files hold, key and whole chain. Others are told when they
// change. Files that are missing or do not belong together are no change: what was read
// last keeps serving.
type certificate struct {
	certFile, keyFile string

	mu        sync.RWMutex
	cert, key []byte
	leaf      *x509.Certificate
	problem   error
	listeners []dynamiccertificates.Listener
}

var (
	_ dynamiccertificates.CertKeyContentProvider = (*certificate)(nil)
	_ dynamiccertificates.ControllerRunner       = (*certificate)(nil)
)

// Name is the provider's, for the log.
func (c *certificate) Name() string {
	return c.certFile
}

// CurrentCertKeyContent returns what is to be served; nothing if there was none yet.
func (c *certificate) CurrentCertKeyContent() (cert, key []byte) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.cert, c.key
}

// AddListener adds one to tell of changes.
func (c *certificate) AddListener(l dynamiccertificates.Listener) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listeners = append(c.listeners, l)
}

// Run looks at the files until ctx ends.
func (c *certificate) Run(ctx context.Context, _ int) {
	wait.UntilWithContext(ctx, func(ctx context.Context) { _ = c.RunOnce(ctx) }, rereadPeriod)
}

// RunOnce looks at the files once. The error is remembered, and logged when it is new.
func (c *certificate) RunOnce(context.Context) error {
	cert, key, err := c.read()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		c.problem = nil
		return nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.X509KeyPair(cert, key)
	}
	if err != nil {
		c.note(fmt.Errorf("certificate %s with key %s: %w", c.certFile, c.keyFile, err))
		return c.problem
	}
	c.cert, c.key, c.leaf, c.problem = cert, key, pair.Leaf, nil
	klog.Infof("Serving certificate %s of %s, valid until %s", pair.Leaf.SerialNumber.Text(16), c.certFile, until(pair.Leaf))
	for _, l := range c.listeners {
		l.Enqueue()
	}
	return nil
}

func (c *certificate) read() (cert, key []byte, err error) {
	if cert, err = os.ReadFile(c.certFile); err != nil {
		return nil, nil, err
	}
	key, err = os.ReadFile(c.keyFile)
	return cert, key, err
}

func (c *certificate) note(problem error) {
	if c.problem == nil || c.problem.Error() != problem.Error() {
		klog.Warning(problem)
	}
	c.problem = problem
}

// servable says why no client could trust what is served now.
func (c *certificate) servable(now time.Time) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch {
	case c.leaf == nil && c.problem != nil:
		return c.problem
	case c.leaf == nil:
		return errors.New("no certificate has been loaded yet")
	case now.After(c.leaf.NotAfter):
		return fmt.Errorf("the certificate in %s expired at %s: renew the file, it is read again", c.certFile, until(c.leaf))
	case now.Before(c.leaf.NotBefore):
		return fmt.Errorf("the certificate in %s is not valid before %s", c.certFile, c.leaf.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}

// expiry is zero as long as there is no certificate.
func (c *certificate) expiry() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.leaf == nil {
		return time.Time{}
	}
	return c.leaf.NotAfter
}

func until(leaf *x509.Certificate) string {
	return leaf.NotAfter.UTC().Format(time.RFC3339)
}
