// Package apiservertest has API servers for tests.
package apiservertest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Hanging returns a client of an API server without objects. Writes fail after 30 s: a webhook does not answer.
func Hanging(t testing.TB) kubernetes.Interface {
	t.Helper()
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: "http://localhost", Transport: roundTripper(hang), QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return kube
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func hang(r *http.Request) (*http.Response, error) {
	code, reason, message := http.StatusNotFound, "NotFound", "not found"
	if r.Method != http.MethodGet {
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(30 * time.Second):
			code, reason, message = http.StatusInternalServerError, "InternalError", "failed calling webhook: context deadline exceeded"
		}
	}
	status := `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "` + reason + `", "message": "` + message + `"}`
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)), Request: r}, nil
}
