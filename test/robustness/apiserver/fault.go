package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Request is one request of a client.
type Request struct {
	Server          string
	User, UserAgent string
	Info            request.RequestInfo
	Query           url.Values
	Body            []byte
	Time            time.Time
}

// Writes reports whether the request can change an object.
func (r Request) Writes() bool {
	switch r.Info.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return r.Info.APIGroup != "authorization.k8s.io" && r.Info.APIGroup != "authentication.k8s.io" && len(r.Query["dryRun"]) == 0
	}
	return false
}

// Live reports whether the answer to a read shows all earlier writes: it does not come from a cache that may be late.
func (r Request) Live() bool {
	return r.Info.Verb == "get" && r.Query.Get("resourceVersion") == "" || r.Info.Verb == "list" && r.Query.Get("resourceVersion") == ""
}

// Fault is what goes wrong with a request. The zero value means nothing.
type Fault struct {
	// Delay is before the API server gets the request.
	Delay time.Duration
	// Status is the answer, and the API server does not get the request.
	Status *metav1.Status
	// LostRequest means that the API server does not get the request, and the client gets an error of the connection.
	LostRequest bool
	// LostAnswer means that the API server gets the request, and the client gets an error of the connection.
	LostAnswer bool
}

func (c *Cluster) fault(r Request) Fault {
	if c.Fault == nil {
		return Fault{}
	}
	return c.Fault(r)
}

func (f Fault) answer(r *http.Request) (*http.Response, error) {
	status := *f.Status
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		header.Set("Retry-After", fmt.Sprint(status.Details.RetryAfterSeconds))
	}
	return &http.Response{
		StatusCode: int(status.Code), Status: fmt.Sprint(status.Code, " ", http.StatusText(int(status.Code))), Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}

// metav1GroupResource is that of errors without a resource.
var metav1GroupResource = schema.GroupResource{}
