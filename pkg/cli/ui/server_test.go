package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/views"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// reader has facts that a test changes.
type reader struct {
	mutex    sync.Mutex
	facts    page.Facts
	err      error
	reads    int
	measures chan page.Measurements
}

func (r *reader) Read(context.Context) (page.Facts, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.reads++
	return r.facts, r.err
}

func (r *reader) Measure(context.Context) page.Measurements { return <-r.measures }

func (r *reader) change(server string, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.facts, r.err = page.Facts{Server: server}, err
}

func serve(t *testing.T) (*reader, *Handler, *httptest.Server) {
	t.Helper()
	r := &reader{facts: page.Facts{Server: "https://192.0.2.1:6443"}, measures: make(chan page.Measurements)}
	handler := NewHandler(t.Context(), r)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return r, handler, server
}

func get(t *testing.T, url string, changes ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	request := installtest.OrPanic(http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil))
	for _, change := range changes {
		change(request)
	}
	response := installtest.OrPanic(http.DefaultClient.Do(request))
	defer response.Body.Close()
	return response, string(installtest.OrPanic(io.ReadAll(response.Body)))
}

// Only the user who knows the token, and the views themselves, are answered.
func TestRefusals(t *testing.T) {
	_, handler, server := serve(t)
	path := handler.Path() + views.Map
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for name, test := range map[string]struct {
		path   string
		change func(*http.Request)
		want   int
	}{
		"the view":                     {path, func(*http.Request) {}, http.StatusOK},
		"the view, by its own script":  {path, header("Origin", server.URL), http.StatusOK},
		"the view, opened by the user": {path, header("Sec-Fetch-Site", "none"), http.StatusOK},
		"a link of another page": {path, func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", "document")
		}, http.StatusOK},
		"a frame of another page": {path, func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", "iframe")
		}, http.StatusForbidden},
		"port 80":                         {path, func(r *http.Request) { r.Host = "127.0.0.1" }, http.StatusOK},
		"the name localhost":              {path, func(r *http.Request) { r.Host = strings.Replace(r.Host, "127.0.0.1", "localhost", 1) }, http.StatusOK},
		"no token":                        {"/" + views.Map, func(*http.Request) {}, http.StatusNotFound},
		"another token":                   {"/" + strings.Repeat("A", 26) + "/map", func(*http.Request) {}, http.StatusNotFound},
		"a name that leads here":          {path, func(r *http.Request) { r.Host = "attacker.example.com:80" }, http.StatusForbidden},
		"another name without a port":     {path, func(r *http.Request) { r.Host = "attacker.example.com" }, http.StatusForbidden},
		"a page of another origin":        {path, header("Origin", "https://attacker.example.com"), http.StatusForbidden},
		"a page of another port":          {path, header("Origin", "http://127.0.0.1:1"), http.StatusForbidden},
		"a page without an origin":        {path, header("Origin", "null"), http.StatusForbidden},
		"a frame or image of another one": {path, header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		"a page of another local port":    {path, header("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		"a write":                         {path, func(r *http.Request) { r.Method = http.MethodPost }, http.StatusMethodNotAllowed},
		"an unknown view":                 {handler.Path() + "other", func(*http.Request) {}, http.StatusNotFound},
		"an unknown webhook":              {handler.Path() + views.Webhook + "?id=x", func(*http.Request) {}, http.StatusNotFound},
		"the events, of another origin":   {handler.Path() + "events", header("Origin", "https://attacker.example.com"), http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := get(t, server.URL+test.path, test.change)
			installtest.Same(t, "status", test.want, response.StatusCode)
			if test.want != http.StatusOK && strings.Contains(body, "192.0.2.1") {
				t.Errorf("the refusal shows the cluster: %s", body)
			}
			for _, name := range []string{"Content-Security-Policy", "Cache-Control", "Referrer-Policy", "X-Content-Type-Options", "Cross-Origin-Resource-Policy"} {
				installtest.Same(t, name+" is set", true, response.Header.Get(name) != "")
			}
			installtest.Same(t, "header that lets other origins read", "", response.Header.Get("Access-Control-Allow-Origin"))
		})
	}
}

func TestTokensDiffer(t *testing.T) {
	if a, b := NewHandler(t.Context(), nil), NewHandler(t.Context(), nil); a.Path() == b.Path() || len(a.Path()) < 20 {
		t.Errorf("the tokens are %s and %s", a.Path(), b.Path())
	}
}

// The address that the command prints leads to the map.
func TestStart(t *testing.T) {
	_, handler, server := serve(t)
	response, body := get(t, server.URL+handler.Path())
	installtest.Same(t, "address", handler.Path()+views.Map, response.Request.URL.Path)
	installtest.Contains(t, body, "No object of this cluster makes API servers call a webhook")
}

func TestUnreadCluster(t *testing.T) {
	r, handler, server := serve(t)
	r.change("", errors.New("the API server does not answer"))
	response, body := get(t, server.URL+handler.Path()+views.Findings)
	installtest.Same(t, "status", http.StatusBadGateway, response.StatusCode)
	installtest.Same(t, "message", "the cluster could not be read: the API server does not answer\n", body)
}

// events opens a view that shows the page of a number, and returns the numbers that it is sent.
func events(t *testing.T, address string, number int) <-chan string {
	t.Helper()
	request := installtest.OrPanic(http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%sevents?number=%d", address, number), nil))
	response := installtest.OrPanic(http.DefaultClient.Do(request))
	t.Cleanup(func() { response.Body.Close() })
	installtest.Same(t, "type", "text/event-stream", response.Header.Get("Content-Type"))
	numbers := make(chan string)
	go func() {
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			if number, is := strings.CutPrefix(scanner.Text(), "data: "); is {
				numbers <- number
			}
		}
	}()
	return numbers
}

// An open view is sent the number of each page that differs from its own. Without a view, the cluster is not read.
func TestEvents(t *testing.T) {
	r, handler, server := serve(t)
	address := server.URL + handler.Path()
	handler.Refresh(t.Context())
	installtest.Same(t, "reads without a view", 0, r.reads)
	go handler.Measure(t.Context())

	_, body := get(t, address+views.Map)
	installtest.Contains(t, body, `data-number="1"`, "The endpoints have not been dialled yet")
	first := events(t, address, 1)
	r.measures <- page.Measurements{NotDialled: "no permission"} // They are dialled as soon as a view is open.
	installtest.Same(t, "after the dial", "2", <-first)
	_, body = get(t, address+views.Findings)
	installtest.Contains(t, body, "The last attempt to dial the endpoints failed: no permission")

	handler.Refresh(t.Context()) // Nothing has changed.
	r.change("https://192.0.2.2:6443", nil)
	handler.Refresh(t.Context())
	installtest.Same(t, "after a change", "3", <-first)
	r.change("", errors.New("the API server does not answer"))
	handler.Refresh(t.Context())
	installtest.Same(t, "after an error", "4", <-first)
	_, body = get(t, address+views.Map)
	installtest.Contains(t, body, "https://192.0.2.2:6443", "this page may be out of date: the API server does not answer")

	installtest.Same(t, "a view of an earlier page", "4", <-events(t, address, 2))
}
