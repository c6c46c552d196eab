package limits

import (
	"io"
	"net/http"
	"sync"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/httperror"
)

// Body is the body of a request. Objects that are decoded from it share no memory with it.
type Body struct {
	Data []byte

	calls   *Calls
	decoded int64 // bytes that are counted for its objects
}

var bodies = sync.Pool{New: func() any { return &Body{Data: make([]byte, 0, firstBytes)} }}

// firstBytes is the capacity of a body before any of it has arrived.
const firstBytes = 8 << 10

// Release frees the memory. Large buffers are not kept for later calls.
func (b *Body) Release() {
	_ = b.calls.resize(cap(b.Data), 0) // never fails
	b.ReleaseDecoded()
	if cap(b.Data) <= UncountedBytes {
		b.Data = b.Data[:0]
		bodies.Put(b)
	}
}

// ReleaseDecoded ends the count of the objects that were decoded from the body.
func (b *Body) ReleaseDecoded() {
	b.calls.decodedMemory.Add(-b.decoded)
	b.decoded = 0
}

// ReadBody reads a body up to the limit. The memory grows with the bytes that have arrived, because
// Content-Length is only a claim. httperror.SetDeadlines limits the time.
func (c *Calls) ReadBody(r *http.Request, limit int64) (*Body, error) {
	if r.ContentLength > limit {
		return nil, bodyTooLarge(limit)
	}
	b := bodies.Get().(*Body)
	b.calls = c
	if err := b.fill(r, limit); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

func (b *Body) fill(r *http.Request, limit int64) error {
	most := limit + 1 // one more byte shows that the body is too large
	if r.ContentLength >= 0 {
		most = r.ContentLength + 1 // room to read the end
	}
	for {
		if len(b.Data) == cap(b.Data) {
			if r.ContentLength >= 0 && !b.calls.fits(cap(b.Data), int(most)) {
				return b.calls.full()
			}
			if err := b.grow(most); err != nil {
				return err
			}
		}
		n, err := r.Body.Read(b.Data[len(b.Data):cap(b.Data)])
		b.Data = b.Data[:len(b.Data)+n]
		switch {
		case int64(len(b.Data)) > limit:
			return bodyTooLarge(limit)
		case err == io.EOF:
			return nil
		case err != nil:
			return httperror.BadRequest("the body cannot be read: %v", err)
		}
	}
}

func (b *Body) grow(most int64) error {
	capacity := int(min(2*int64(cap(b.Data)), max(most, int64(cap(b.Data))+1)))
	if err := b.calls.resize(cap(b.Data), capacity); err != nil {
		return err
	}
	data := make([]byte, len(b.Data), capacity)
	copy(data, b.Data)
	b.Data = data
	return nil
}

func bodyTooLarge(limit int64) error {
	return httperror.TooLarge("the body is larger than %d bytes, which is the limit of this webhook", limit)
}
