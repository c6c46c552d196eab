package hosting

import (
	"bytes"
	"context"
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
	bytes.Buffer
}

var bodies = sync.Pool{New: func() any { return &body{} }}

// largestKept keeps one giant request from holding its memory for ever.
const largestKept = 1 << 20

func (b *body) release() {
	if b.Cap() <= largestKept {
		b.Reset()
		bodies.Put(b)
	}
}

// readBody reads no longer than the call's deadline, so that a client that sends a byte
// now and then holds nothing up, and no more than the limit.
func readBody(ctx context.Context, w http.ResponseWriter, r *http.Request, limit int64) (*body, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	control := http.NewResponseController(w)
	if deadline, ok := ctx.Deadline(); ok {
		if err := control.SetReadDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return nil, internalError(err)
		}
		defer func() { _ = control.SetReadDeadline(time.Time{}) }() // what could be set can be taken back
	}
	b := bodies.Get().(*body)
	if r.ContentLength > 0 {
		b.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(io.LimitReader(r.Body, limit+1)); err != nil {
		b.release()
		return nil, badRequest("the body cannot be read: %v", err)
	}
	if int64(b.Len()) > limit {
		b.release()
		return nil, tooLarge(limit)
	}
	return b, nil
}

func tooLarge(limit int64) error {
	return &failure{http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge,
		fmt.Sprintf("the body is larger than the %d bytes that this webhook takes", limit)}
}
