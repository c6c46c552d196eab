package kube

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
)

// Verdict is what becomes of a request.
type Verdict int

const (
	// Pass lets the request and its answer through.
	Pass Verdict = iota
	// DropBefore breaks the connection before the request reaches the API server.
	DropBefore
	// DropAfter breaks the connection after the API server has done what was asked.
	DropAfter
)

// Judge decides about a write, counted from 1, before it is forwarded.
type Judge func(n int, r *http.Request) Verdict

// Proxy is between a client and an API server. It counts the client's writes (see Writes), and drops the selected ones,
// so that a test can end a controller at each of its steps.
type Proxy struct {
	server *httptest.Server
	judge  Judge

	mu     sync.Mutex
	writes []string
}

// NewProxy starts a proxy. Its clients have the rights of the configuration. Without a judge, everything passes.
func NewProxy(upstream *rest.Config, judge Judge) (*Proxy, error) {
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		return nil, err
	}
	target, _, err := rest.DefaultServerUrlFor(upstream)
	if err != nil {
		return nil, err
	}
	if judge == nil {
		judge = func(int, *http.Request) Verdict { return Pass }
	}
	p := &Proxy{judge: judge}
	p.server = httptest.NewServer(p.handler(target, transport))
	return p, nil
}

// Config returns what makes a client talk to the API server through the proxy.
func (p *Proxy) Config() *rest.Config {
	return &rest.Config{Host: p.server.URL, QPS: -1}
}

// Writes returns the method and path of all writes so far, in the order of their numbers.
func (p *Proxy) Writes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

// Close breaks all connections, watches among them, and ends the proxy.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

func (p *Proxy) handler(target *url.URL, transport http.RoundTripper) http.Handler {
	pass := forwarder(target, transport)
	dropAnswer := forwarder(target, transport)
	dropAnswer.ModifyResponse = func(*http.Response) error { return errors.New("dropped by the judge") }
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p.verdict(r) {
		case DropBefore:
			breakConnection(w, r, nil)
		case DropAfter:
			dropAnswer.ServeHTTP(w, r)
		default:
			pass.ServeHTTP(w, r)
		}
	})
}

func forwarder(target *url.URL, transport http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // the events of a watch must not wait for more of them
		ErrorHandler:  breakConnection,
	}
}

// breakConnection makes the server close the client's connection with no answer.
func breakConnection(http.ResponseWriter, *http.Request, error) {
	panic(http.ErrAbortHandler)
}

func (p *Proxy) verdict(r *http.Request) Verdict {
	info, err := requestInfo.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest || !isWrite(info.Verb) || isBookkeeping(info.APIGroup, info.Resource) {
		return Pass
	}
	p.mu.Lock()
	p.writes = append(p.writes, r.Method+" "+r.URL.Path)
	n := len(p.writes)
	p.mu.Unlock()
	return p.judge(n, r)
}

var requestInfo = &request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}
