package hosting

import (
	"fmt"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// defaultMaxRequests is more than the API servers of a cluster send to one webhook at once.
	defaultMaxRequests = 1000
	// defaultMaxBodyMemory is room for two admission reviews of the largest size at once.
	defaultMaxBodyMemory = 16 << 20
	// uncountedBytes is the part of each body that maxBodyMemory does not count. Nearly all
	// reviews are smaller: callers that send large bodies cannot keep them from being served.
	// maxRequests bounds the sum of these parts.
	uncountedBytes = 64 << 10
	// decodedFactor is how much the objects of all bodies may take, as a multiple of maxBodyMemory.
	decodedFactor = 8
	// uncountedDecoded is the part of each body's objects that is not counted. Nearly all objects are smaller.
	uncountedDecoded = 256 << 10
)

// load counts what all calls of a process hold at once, and bounds it.
type load struct {
	maxRequests   int64
	maxBodyMemory int64

	callers       atomic.Int64 // whose identity is asked, too
	requests      atomic.Int64
	bodyMemory    atomic.Int64
	decodedMemory atomic.Int64
}

func newLoad() *load {
	return &load{maxRequests: defaultMaxRequests, maxBodyMemory: defaultMaxBodyMemory}
}

// begin counts a call, until end: that is when its handler returns, which may be after the
// call was answered or its caller hung up.
func (l *load) begin() error {
	if l.requests.Add(1) > l.maxRequests {
		l.requests.Add(-1)
		return l.tooMany()
	}
	return nil
}

func (l *load) tooMany() error {
	return tooManyRequests("%d calls are in progress, which is the limit of --max-requests-inflight: retry later", l.maxRequests)
}

func (l *load) end() {
	l.requests.Add(-1)
}

// bounded bounds how many requests are with next at once: for what is done before a call begins.
func (l *load) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer l.callers.Add(-1)
		if l.callers.Add(1) > l.maxRequests {
			writeFailure(w, r, l.tooMany())
			return
		}
		next.ServeHTTP(w, r)
	})
}

// resize counts a body's memory when its capacity changes. To shrink it to 0 never fails.
func (l *load) resize(from, to int) error {
	n := int64(max(to, uncountedBytes) - max(from, uncountedBytes))
	if l.bodyMemory.Add(n) > l.maxBodyMemory && n > 0 {
		l.bodyMemory.Add(-n)
		return l.full()
	}
	return nil
}

// mayDecode counts the memory that the objects of a body take, until the body is released.
func (l *load) mayDecode(b *body, cost int64) error {
	n, limit := max(0, cost-uncountedDecoded), decodedFactor*l.maxBodyMemory
	if n > limit {
		return &failure{http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			fmt.Sprintf("the objects in the body would take %d bytes of memory, and may take %d: they have very many values; --max-body-memory allows %d times its value", cost, limit, decodedFactor)}
	}
	if l.decodedMemory.Add(n) > limit && n > 0 {
		l.decodedMemory.Add(-n)
		return tooManyRequests("the objects of the calls in progress hold the %d bytes that --max-body-memory allows: retry later", limit)
	}
	b.decoded = n
	return nil
}

// fits reports whether there is room for the rest of a body. One that has no room is refused before
// it grows, because each step of its growth would be garbage. Nothing is reserved: the length of a body
// is only a claim until it has arrived.
func (l *load) fits(from, to int) bool {
	n := int64(max(to, uncountedBytes) - max(from, uncountedBytes))
	return l.bodyMemory.Load()+n <= l.maxBodyMemory
}

func (l *load) full() error {
	return tooManyRequests("the bodies of the calls in progress hold the %d bytes of --max-body-memory: retry later", l.maxBodyMemory)
}

// retryAfterSeconds is when a refused caller is told to call again. API servers do so while
// the webhook's timeout lasts.
const retryAfterSeconds = 1

func tooManyRequests(format string, args ...any) error {
	return &failure{http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, fmt.Sprintf(format, args...)}
}
