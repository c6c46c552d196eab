// Package limits limits what all calls of a process hold at once: handlers, bodies and decoded objects.
package limits

import (
	"net/http"
	"sync/atomic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/httperror"
)

const (
	// DefaultMaxRequests is more than the API servers of a cluster send to one webhook at once.
	DefaultMaxRequests = 1000
	// DefaultMaxBodyMemory is enough for two admission reviews of the largest size at once.
	DefaultMaxBodyMemory = 16 << 20
	// UncountedBytes of each body are not counted by MaxBodyMemory, but limited by MaxRequests. Nearly all reviews are
	// smaller, so callers that send large bodies cannot block them.
	UncountedBytes = 64 << 10
	// DecodedFactor limits the memory of the objects of all bodies, as a multiple of MaxBodyMemory.
	DecodedFactor = 8
	// uncountedDecoded bytes of each body's objects are not counted. Nearly all objects are smaller.
	uncountedDecoded = 256 << 10
)

// Calls counts what the calls of a process hold, and limits it.
type Calls struct {
	MaxRequests   int64
	MaxBodyMemory int64

	callers       atomic.Int64 // requests whose caller is being authenticated or served
	requests      atomic.Int64
	bodyMemory    atomic.Int64
	decodedMemory atomic.Int64
}

// NewCalls returns Calls with the default limits.
func NewCalls() *Calls {
	return &Calls{MaxRequests: DefaultMaxRequests, MaxBodyMemory: DefaultMaxBodyMemory}
}

// Requests returns the number of calls between Begin and End.
func (c *Calls) Requests() int64 { return c.requests.Load() }

// DecodedMemory returns the memory of the decoded objects that is counted.
func (c *Calls) DecodedMemory() int64 { return c.decodedMemory.Load() }

// BodyMemory returns the memory of the bodies that is counted.
func (c *Calls) BodyMemory() int64 { return c.bodyMemory.Load() }

// Begin counts a call until End. Call End when the handler has returned, which may be after the call was
// answered or its caller closed the connection, and when the answer has been written.
func (c *Calls) Begin() error {
	if c.requests.Add(1) > c.MaxRequests {
		c.requests.Add(-1)
		return c.tooMany()
	}
	return nil
}

// End ends a call.
func (c *Calls) End() { c.requests.Add(-1) }

func (c *Calls) tooMany() error {
	return httperror.TooManyRequests("%d calls are in progress, which is the limit of --max-requests-inflight: retry later", c.MaxRequests)
}

// LimitCallers limits how many requests next serves at once, also before a call begins (authentication).
func (c *Calls) LimitCallers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer c.callers.Add(-1)
		if c.callers.Add(1) > c.MaxRequests {
			httperror.Write(w, r, c.tooMany())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// resize counts a body's memory when its capacity changes. Shrinking to 0 never fails.
func (c *Calls) resize(from, to int) error {
	n := int64(max(to, UncountedBytes) - max(from, UncountedBytes))
	if c.bodyMemory.Add(n) > c.MaxBodyMemory && n > 0 {
		c.bodyMemory.Add(-n)
		return c.full()
	}
	return nil
}

// Decode counts the memory of the objects in a body until the body is released.
func (c *Calls) Decode(b *Body, cost int64) error {
	n, limit := max(0, cost-uncountedDecoded), DecodedFactor*c.MaxBodyMemory
	if n > limit {
		return httperror.TooLarge("the objects in the body need %d bytes of memory, the limit is %d: they have very many values; the limit is %d times --max-body-memory", cost, limit, DecodedFactor)
	}
	if c.decodedMemory.Add(n) > limit && n > 0 {
		c.decodedMemory.Add(-n)
		return httperror.TooManyRequests("the objects of the calls in progress hold the %d bytes that --max-body-memory allows: retry later", limit)
	}
	b.decoded = n
	return nil
}

// fits reports whether there is room for the rest of a body, before it grows, because each step would be garbage.
// Nothing is reserved: Content-Length is only a claim until the body has arrived.
func (c *Calls) fits(from, to int) bool {
	n := int64(max(to, UncountedBytes) - max(from, UncountedBytes))
	return c.bodyMemory.Load()+n <= c.MaxBodyMemory
}

func (c *Calls) full() error {
	return httperror.TooManyRequests("the bodies of the calls in progress hold the %d bytes of --max-body-memory: retry later", c.MaxBodyMemory)
}
