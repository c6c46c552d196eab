package probe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"
)

// A resumed session would not show the certificate that is served now.
func one(ctx context.Context, target Target, expected trust, o Options) Result {
	timeout := o.Timeout
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	raw, err := o.connect(within, target.Address)
	if err != nil {
		return notConnected(target, err, timeout)
	}
	conn := authenticates(raw, &tls.Config{
		ServerName:         target.ServerName,
		RootCAs:            expected.pool,
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: o.AnyCertificate, //nolint:gosec // G402: only where API servers do not verify it either
		// API servers offer this to a Service, so that their connections spread over its pods.
		NextProtos: []string{"http/1.1"},
	})
	defer conn.Close()
	err = conn.HandshakeContext(within)
	conn.note(err)
	if err != nil && !conn.refused.Load() {
		return notTrusted(target, err, expected, timeout)
	}
	if target.Call != (Call{}) && err == nil {
		if result := reviewed(ctx, conn, target, cmp.Or(o.Review, timeout)); result != nil {
			return *result
		}
	}
	if o.AnyCertificate {
		return Result{Target: target, Reason: Serving}
	}
	state := conn.ConnectionState()
	leaf := state.PeerCertificates[0]
	return Result{Target: target, Reason: Serving, Leaf: hexSHA256(leaf), CA: authorityOf(state), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter}
}

// authorityOf returns the last certificate of the first chain, as a digest.
func authorityOf(state tls.ConnectionState) string {
	if len(state.VerifiedChains) == 0 {
		return ""
	}
	chain := state.VerifiedChains[0]
	return hexSHA256(chain[len(chain)-1])
}

func hexSHA256(c *x509.Certificate) string { return fmt.Sprintf("%x", sha256.Sum256(c.Raw)) }

// defaultPatience is how long the first connection may take.
const defaultPatience = 100 * time.Millisecond

// connect retries early: nodes drop packets to new endpoints at first, and TCP repeats after a second (RFC 6298).
func (o Options) connect(ctx context.Context, address string) (net.Conn, error) {
	for patience := cmp.Or(o.Patience, defaultPatience); ; patience *= 2 {
		within, cancel := context.WithTimeout(ctx, patience)
		conn, err := o.dial(within, address)
		cancel()
		if !isTimeout(err) || ctx.Err() != nil {
			return conn, err
		}
	}
}

func (o Options) dial(ctx context.Context, address string) (net.Conn, error) {
	if o.Dial != nil {
		return o.Dial(ctx, address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
