package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"k8s.io/klog/v2"
)

// responseWriter collects an answer. The body of a watch is a pipe, which the client reads while the watch runs.
type responseWriter struct {
	header   http.Header
	status   int
	stream   bool
	body     *io.PipeWriter
	buffered bytes.Buffer
	ready    chan struct{}
	once     sync.Once
	aborted  bool // set before ready is closed, except in a watch
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	w.header = w.header.Clone() // later changes have no effect
	if w.stream {
		w.once.Do(func() { close(w.ready) })
	}
}

func (w *responseWriter) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.stream {
		return w.body.Write(data)
	}
	return w.buffered.Write(data)
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// finish ends the answer. A handler that panics aborts it, as in kube-apiserver: the client gets an error of the connection.
func (w *responseWriter) finish() {
	if r := recover(); r != nil {
		w.aborted = true
		klog.Errorf("apiserver panic'd: %v", r)
	}
	w.WriteHeader(http.StatusOK)
	w.once.Do(func() { close(w.ready) })
	w.body.Close()
}

func (w *responseWriter) response(r *http.Request, reader *io.PipeReader, cancel context.CancelFunc) *http.Response {
	response := &http.Response{
		StatusCode: w.status, Status: fmt.Sprint(w.status, " ", http.StatusText(w.status)), Header: w.header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Request: r,
	}
	if w.stream {
		response.Body = watchBody{reader, cancel}
		return response
	}
	response.ContentLength = int64(w.buffered.Len())
	response.Body = io.NopCloser(&w.buffered)
	return response
}

// watchBody ends the watch when the client closes it.
type watchBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b watchBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// CloseNotify is never used, but the API server wraps only writers that have it, as those of HTTP/2 do.
func (w *responseWriter) CloseNotify() <-chan bool { return nil }
