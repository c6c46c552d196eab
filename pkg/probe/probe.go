// Package probe finds out whether an address of a webhook finishes a TLS handshake under a caBundle and a
// server name, as an API server does it, and answers a review.
package probe

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// Target is one address of a webhook.
type Target struct {
	// Address is IP and port, as net.JoinHostPort joins them.
	Address string
	// ServerName is the name in the certificate: for a Service "name.namespace.svc".
	ServerName string
	// What names the pod for a reader: "pod shop/manager-7d9f", "Service shop/manager-service".
	What string
	// Call is the review to send after the handshake; the zero value sends nothing.
	Call Call
}

// Reason is one CamelCase word for what a probe found.
type Reason string

const (
	// Serving means that the handshake succeeds, and that the review, if there is one, is answered.
	Serving Reason = "Serving"
	// Refused means that no process listens on the port.
	Refused Reason = "Refused"
	// Unreachable means that there is no route to the address, or that it is no address.
	Unreachable Reason = "Unreachable"
	// TimedOut means that the connection or the handshake took too long.
	TimedOut Reason = "TimedOut"
	// NotTLS means that the endpoint does not answer with TLS, but most often with plain HTTP.
	NotTLS Reason = "NotTLS"
	// HandshakeFailed means that the endpoint breaks the TLS handshake off.
	HandshakeFailed Reason = "HandshakeFailed"
	// ForeignCertificate means that no CA of the bundle signed the certificate of the endpoint.
	ForeignCertificate Reason = "ForeignCertificate"
	// UnfitCertificate means that the bundle's CA signed it, but it has expired or is for another use or name.
	UnfitCertificate Reason = "UnfitCertificate"
	// PathNotServed means a redirect, or the status that there is nothing at the path.
	PathNotServed Reason = "PathNotServed"
	// NoReview means that the endpoint does not answer the review, or that its answer is no review.
	NoReview Reason = "NoReview"
	// Interrupted means that the context was cancelled, or that the time for all targets was over.
	Interrupted Reason = "Interrupted"
)

// Reasons are all of them.
var Reasons = []Reason{Serving, Refused, Unreachable, TimedOut, NotTLS, HandshakeFailed, ForeignCertificate, UnfitCertificate, PathNotServed, NoReview, Interrupted}

// Result is what the probe of one target found.
type Result struct {
	Target
	// Reason is Serving, or reports what is in the way.
	Reason Reason
	// Leaf is the hex SHA-256 of the DER form of the presented certificate; empty if not known.
	Leaf string
	// CA is the hex SHA-256 of the DER form of the CA in the bundle that verifies it; empty if not known.
	CA string
	// NotBefore and NotAfter are the validity of the certificate that is served; zero unless Serving.
	NotBefore, NotAfter time.Time
	// Err is nil for Serving. Else it has the fact, the expectation and the remedy.
	Err error
}

// Options bound what a call of All costs.
type Options struct {
	// Parallel is how many targets are probed at once, at least one.
	Parallel int
	// Timeout is how long one target may take from dial to handshake.
	Timeout time.Duration
	// Review is how long the answer to a review may take after the handshake; zero is Timeout.
	Review time.Duration
	// Total is for all targets; the remaining ones are Interrupted. Zero is no bound.
	Total time.Duration
	// AnyCertificate accepts each certificate, as for an APIService with insecureSkipTLSVerify.
	AnyCertificate bool
	// Patience is how long the first connection may take. Each next one may take twice as long. Zero is 100 ms.
	Patience time.Duration
	// Dial connects to an address; nil is the network as it is.
	Dial func(ctx context.Context, address string) (net.Conn, error)
}

// All probes every target once, under these CAs (PEM). The results are in the order of the targets.
func All(ctx context.Context, targets []Target, trust []byte, o Options) []Result {
	if o.Total > 0 {
		within, cancel := context.WithTimeout(ctx, o.Total)
		defer cancel()
		ctx = within
	}
	results := make([]Result, len(targets))
	expected := readTrust(trust)
	slots := make(chan struct{}, max(1, o.Parallel))
	var probes sync.WaitGroup
	for i, target := range targets {
		slots <- struct{}{}
		if ctx.Err() != nil {
			results[i] = interrupted(target)
			<-slots
			continue
		}
		probes.Go(func() {
			results[i] = one(ctx, target, expected, o)
			if results[i].Reason == TimedOut && ctx.Err() != nil {
				results[i] = interrupted(target) // it was given less time
			}
			<-slots
		})
	}
	probes.Wait()
	return results
}

// NoneDialled reports whether no target could be reached. All may serve: the network is the likely cause.
func NoneDialled(results []Result) bool {
	return !slices.ContainsFunc(results, func(r Result) bool {
		return r.Reason != TimedOut && r.Reason != Unreachable && r.Reason != Interrupted
	})
}
