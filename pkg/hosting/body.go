package hosting

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// body is a request's. What is decoded from it shares nothing with it.
type body struct {
	data    []byte
	load    *load
	decoded int64 // bytes that are counted for its objects
}

var bodies = sync.Pool{New: func() any { return &body{data: make([]byte, 0, firstBytes)} }}

// firstBytes is what a body gets before any of it has arrived.
const firstBytes = 8 << 10

// release gives the memory back. Large buffers are not kept for later calls.
func (b *body) release() {
	_ = b.load.resize(cap(b.data), 0) // never fails
	b.load.decodedMemory.Add(-b.decoded)
	b.decoded = 0
	if cap(b.data) <= uncountedBytes {
		b.data = b.data[:0]
		bodies.Put(b)
	}
}

// readBody reads no more than the limit. The memory grows with the bytes that have arrived:
// the Content-Length is only a claim. The deadline is that of limitTime.
func (l *load) readBody(r *http.Request, limit int64) (*body, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	b := bodies.Get().(*body)
	b.load = l
	if err := b.fill(r, limit); err != nil {
		b.release()
		return nil, err
	}
	return b, nil
}

func (b *body) fill(r *http.Request, limit int64) error {
	most := limit + 1 // one more shows that the body is too large
	if r.ContentLength >= 0 {
		most = r.ContentLength + 1 // room to see the end
	}
	l := b.load
	for {
		if len(b.data) == cap(b.data) {
			if r.ContentLength >= 0 && !l.fits(cap(b.data), int(most)) {
				return l.full()
			}
			if err := b.grow(most); err != nil {
				return err
			}
		}
		n, err := r.Body.Read(b.data[len(b.data):cap(b.data)])
		b.data = b.data[:len(b.data)+n]
		switch {
		case int64(len(b.data)) > limit:
			return tooLarge(limit)
		case err == io.EOF:
			return nil
		case err != nil:
			return badRequest("the body cannot be read: %v", err)
		}
	}
}

// grow doubles the capacity, up to the most that the body can need.
func (b *body) grow(most int64) error {
	capacity := int(min(2*int64(cap(b.data)), max(most, int64(cap(b.data))+1)))
	if err := b.load.resize(cap(b.data), capacity); err != nil {
		return err
	}
	data := make([]byte, len(b.data), capacity)
	copy(data, b.data)
	b.data = data
	return nil
}

// answerTime is how long a caller may take to read the answer.
const answerTime = 10 * time.Second

// limitTime bounds how long the caller may take to send the request's body and to read the
// answer. It is not taken back: net/http reads what a handler has left of a body after the
// handler has returned, and sets its own deadlines for the next request.
func limitTime(w http.ResponseWriter, deadline time.Time) error {
	control := http.NewResponseController(w)
	for _, err := range []error{control.SetReadDeadline(deadline), control.SetWriteDeadline(deadline.Add(answerTime))} {
		if err != nil && !errors.Is(err, http.ErrNotSupported) {
			return internalError(fmt.Errorf("the request's deadline cannot be set: %w", err))
		}
	}
	return nil
}

// limitedTime bounds the time of requests for any path, also of those that no webhook serves.
func limitedTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := limitTime(w, time.Now().Add(defaultTimeout)); err != nil {
			writeFailure(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func tooLarge(limit int64) error {
	return &failure{http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
		fmt.Sprintf("the body is larger than the %d bytes that this webhook takes", limit)}
}
