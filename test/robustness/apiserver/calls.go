package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
)

// Call is one call of a webhook. Its fields have what the API server sends.
type Call struct {
	Server string
	// Namespace, Service and Path say what is called.
	Namespace, Service, Path string
	// About is the request that an admission webhook is asked about; nil for other calls.
	About *admissionv1.AdmissionRequest
	Sent  time.Time
	// Err is why there is no answer; nil if there is one, which may be a refusal.
	Err error
}

// recordedCalls reports the calls of an API server to the recorder.
type recordedCalls struct {
	server *Server
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t recordedCalls) RoundTrip(r *http.Request) (*http.Response, error) {
	recorder := t.server.cluster.Recorder
	if recorder == nil {
		return t.next.RoundTrip(r)
	}
	call := Call{Server: t.server.Name, Path: r.URL.Path, Sent: time.Now()}
	call.Service, call.Namespace = split(r.URL.Hostname())
	body, err := readAll(r)
	if err != nil {
		return nil, err
	}
	call.About = aboutOf(body)
	sent := r.Clone(r.Context())
	sent.Body, sent.GetBody = io.NopCloser(bytes.NewReader(body)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	response, err := t.next.RoundTrip(sent)
	call.Err = err
	if err == nil && response.StatusCode != http.StatusOK {
		call.Err = fmt.Errorf("the answer is %s", response.Status)
	}
	recorder.Call(call)
	return response, err
}

// split returns the name and the namespace of a Service with the name of a host.
func split(host string) (name, namespace string) {
	name, rest, _ := strings.Cut(host, ".")
	namespace, _, _ = strings.Cut(rest, ".")
	return name, namespace
}

func aboutOf(body []byte) *admissionv1.AdmissionRequest {
	var review admissionv1.AdmissionReview
	if json.Unmarshal(body, &review) != nil {
		return nil
	}
	return review.Request
}
