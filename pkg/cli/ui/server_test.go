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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/views"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/status"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// reader has facts that a test changes.
type reader struct {
	mutex sync.Mutex
	facts page.Facts
	err   error
	reads int
	// dials receives the result of each dial.
	dials chan error
}

func (r *reader) Read(context.Context) (page.Facts, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.reads++
	return r.facts, r.err
}

func (r *reader) Dial(context.Context, []doctor.Webhook) (map[string][]doctor.Answer, error) {
	return nil, <-r.dials
}

func (r *reader) Latencies(context.Context) (page.Latencies, error) { return nil, nil }

func (r *reader) change(server string, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.facts, r.err = page.Facts{Server: server}, err
}

func serve(t *testing.T) (*reader, *Handler, *httptest.Server) {
	t.Helper()
	r := &reader{facts: page.Facts{Server: "https://192.0.2.1:6443"}, dials: make(chan error)}
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
		"a name that begins as this one":  {path, func(r *http.Request) { r.Host = "127.0.0.1.attacker.example.com" }, http.StatusForbidden},
		"a host with two ports":           {path, func(r *http.Request) { r.Host = "127.0.0.1:80:80" }, http.StatusForbidden},
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
func events(t *testing.T, address string, number int, changes ...func(*http.Request)) <-chan string {
	t.Helper()
	request := installtest.OrPanic(http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%sevents?number=%d", address, number), nil))
	for _, change := range changes {
		change(request)
	}
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
	r.dials <- errors.New("no permission") // They are dialled as soon as a view is open.
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
	again := events(t, address, 1, func(r *http.Request) { r.Header.Set("Last-Event-ID", "4") })
	r.change("https://192.0.2.3:6443", nil)
	handler.Refresh(t.Context())
	installtest.Same(t, "a view of an earlier page that connects again after event 4", "5", <-again)
}

// The times are those of the API server, also if the clock of this machine is wrong.
func TestClock(t *testing.T) {
	r, handler, server := serve(t)
	ahead := 48 * time.Hour
	r.facts.ClockAhead = &ahead
	_, body := get(t, server.URL+handler.Path()+views.Map)
	installtest.Contains(t, body, "The clock of this machine is 2d behind that of the API server", time.Now().Add(ahead).UTC().Format(time.DateOnly))
}

// One that rotates is dialled more often than the others, and the large metrics are read less often.
func TestNextMeasurement(t *testing.T) {
	now := time.Now()
	webhook := func(name string) doctor.Webhook {
		return doctor.Webhook{Kind: doctor.Validating, Object: name, Name: name, Service: types.NamespacedName{Namespace: "shop", Name: name}}
	}
	last := reading{facts: page.Facts{Facts: status.Facts{Facts: doctor.Facts{Webhooks: []doctor.Webhook{webhook("a"), webhook("b")}}, Rollouts: []managerv1alpha1.WebhookRollout{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Status: managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{
			Certificate: &managerv1alpha1.CertificateStatus{Generation: 2}, Webhooks: []managerv1alpha1.WebhookStatus{{Configuration: "b"}},
		}}},
	}}}}}
	dialled := last.facts.Generations()
	for name, test := range map[string]struct {
		phase managerv1alpha1.CertificatePhase
		ready int
		last  measured
		want  string
	}{
		"nothing was measured":           {"Stable", 0, measured{}, "0s: a b, metrics"},
		"endpoints are ready":            {"Stable", 2, measured{}, "0s: a b, metrics"},
		"a minute after the last one":    {"Stable", 0, measured{now, time.Time{}, now, dialled}, "1m0s: a b, metrics"},
		"endpoints have appeared":        {"Stable", 2, measured{now, time.Time{}, now, dialled}, "5s: a b"},
		"a rotation":                     {"Promoting", 0, measured{now, time.Time{}, now, dialled}, "5s: b"},
		"a rotation, dialled since":      {"Promoting", 0, measured{now, now.Add(5 * time.Second), now, dialled}, "10s: b"},
		"a rotation, metrics are due":    {"Promoting", 0, measured{now, now.Add(10 * time.Second), now, dialled}, "15s: b, metrics"},
		"all endpoints, in a rotation":   {"Promoting", 0, measured{now, now.Add(58 * time.Second), now.Add(58 * time.Second), dialled}, "1m0s: a b"},
		"a rotation that has ended":      {"Stable", 0, measured{now, now.Add(4 * time.Second), now, nil}, "9s: b"},
		"the calls until its end":        {"Stable", 0, measured{now, now.Add(10 * time.Second), now, dialled}, "15s: metrics"},
		"after the calls until its end":  {"Stable", 0, measured{now, now.Add(10 * time.Second), now.Add(15 * time.Second), dialled}, "1m0s: a b"},
		"the last measurement took long": {"Stable", 0, measured{now.Add(-time.Hour), time.Time{}, now.Add(-time.Hour), dialled}, "0s: a b, metrics"},
	} {
		last.facts.Rollouts[0].Status.Deployments[0].Certificate.Phase = test.phase
		last.page.Endpoints = test.ready
		next := test.last.next(last, now)
		got := next.at.Sub(now).String() + ":"
		if next.dials {
			got += " " + strings.Join(lists.Map(next.webhooks, func(w doctor.Webhook) string { return w.Name }), " ")
		}
		if next.latencies && next.dials {
			got += ","
		}
		if next.latencies {
			got += " metrics"
		}
		installtest.Same(t, name, test.want, got)
	}
}

// A dial of some endpoints keeps the answers of the others, and one that fails keeps all.
func TestAnswersAreKept(t *testing.T) {
	handler := NewHandler(t.Context(), &reader{})
	at := time.Now()
	answer := func(name string) map[string][]doctor.Answer {
		return map[string][]doctor.Answer{name: {{Endpoint: name}}}
	}
	handler.addAnswers(answer("a"), nil, true, at)
	first := handler.measured.Answers
	handler.addAnswers(answer("b"), nil, false, at.Add(time.Second))
	installtest.Same(t, "webhooks", 2, len(handler.measured.Answers))
	installtest.Same(t, "webhooks of the page before", 1, len(first))
	handler.addAnswers(nil, errors.New("no permission"), true, at.Add(time.Minute))
	installtest.Same(t, "after an error", []any{2, at, "no permission"}, []any{len(handler.measured.Answers), handler.measured.DialledAt, handler.measured.NotDialled})
	handler.addAnswers(answer("c"), nil, true, at.Add(2*time.Minute))
	installtest.Same(t, "after the next dial", []any{1, at.Add(2 * time.Minute), ""}, []any{len(handler.measured.Answers), handler.measured.DialledAt, handler.measured.NotDialled})
}
