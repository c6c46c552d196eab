// Package ui serves the page of package page to the user of this machine.
package ui

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/views"
)

// Reader reads the cluster with the permissions of the user.
type Reader interface {
	// Read returns the facts except the measurements.
	Read(ctx context.Context) (page.Facts, error)
	// Dial dials the endpoints of webhooks. It returns their answers by the String of the webhook.
	Dial(ctx context.Context, webhooks []doctor.Webhook) (map[string][]doctor.Answer, error)
	// Latencies reads the metrics of one API server.
	Latencies(ctx context.Context) (page.Latencies, error)
}

const (
	// maxAge is how old a page is at most when a view is loaded. Open views are updated after changes.
	maxAge = 15 * time.Second
	// readTimeout is how long one read of the cluster may take.
	readTimeout = 5 * time.Minute
	// writeTimeout is how long the answer may take after the page was read.
	writeTimeout = 30 * time.Second
)

// Handler serves all views below the path of its token. Its methods can be called at the same time.
type Handler struct {
	ctx    context.Context //nolint:containedctx // One read is for several requests, and ends with none of them.
	reader Reader
	token  string
	open   openViews
	reads  singleflight.Group

	mutex    sync.Mutex // of the fields below
	last     reading
	measured page.Measurements
	history  page.History
	// clock is how much later the clock of the API server is.
	clock time.Duration
}

// reading is the result of the last read. After an error, the page is the previous one.
type reading struct {
	page  page.Page
	facts page.Facts
	at    time.Time // zero before the first read
	err   error     // of a first read
}

// NewHandler returns a handler with a random token. Its reads end with the context.
func NewHandler(ctx context.Context, reader Reader) *Handler {
	return &Handler{ctx: ctx, reader: reader, token: rand.Text(), open: newOpenViews(), history: page.History{}}
}

// Path is the start of the address of all views. It contains the token.
func (h *Handler) Path() string { return "/" + h.token + "/" }

// Refresh reads the cluster again if a view is open.
func (h *Handler) Refresh(ctx context.Context) {
	if h.open.count() > 0 {
		h.read(ctx)
	}
}

// read waits for a read of the cluster, which is one for all that wait.
func (h *Handler) read(ctx context.Context) {
	done := h.reads.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(h.ctx, readTimeout)
		defer cancel()
		facts, err := h.reader.Read(ctx)
		h.take(facts, err, time.Now())
		return nil, nil
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// take makes the facts the last reading, and updates the views if the page differs.
func (h *Handler) take(facts page.Facts, err error, now time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	previous := h.last.page
	if err == nil {
		h.clock = page.Clock(h.clock, facts.ClockAhead)
		clock := h.clock
		facts.Measurements, facts.ClockAhead = h.measured, &clock
		h.history = h.history.Add(facts, now.Add(clock))
		h.last = reading{page: page.New(facts, h.history, now.Add(clock)), facts: facts, at: now}
	} else if h.last.at = now; previous.ReadAt.IsZero() {
		h.last.err = err
	} else {
		h.last.page.Unread = err.Error()
	}
	h.last.page.Number = previous.Number
	if !h.last.page.Same(previous) {
		h.last.page.Number++
		h.open.update(h.last.page.Number)
	}
}

func (h *Handler) lastReading() reading {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.last
}

// current returns the last reading, or a new one if that is too old.
func (h *Handler) current(ctx context.Context) reading {
	if time.Since(h.lastReading().at) > maxAge {
		h.read(ctx)
	}
	return h.lastReading()
}

// ServeHTTP answers requests of the views themselves only.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if status, message := h.refusal(r); message != "" {
		http.Error(w, message, status)
		return
	}
	switch view := r.URL.Path[len(h.Path()):]; view {
	case "":
		http.Redirect(w, r, views.Map, http.StatusFound)
	case "events":
		h.open.serve(w, r)
	default:
		h.serveView(w, r, view)
	}
}

func (h *Handler) serveView(w http.ResponseWriter, r *http.Request, view string) {
	read := h.current(r.Context())
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // The read may have taken long.
	if read.err != nil {
		http.Error(w, "the cluster could not be read: "+read.err.Error(), http.StatusBadGateway)
		return
	}
	if read.at.IsZero() {
		http.Error(w, "the cluster was not read", http.StatusServiceUnavailable) // The browser does not wait.
		return
	}
	html, status, err := render(read.page, view, r.URL.Query().Get("id"))
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(html)) //nolint:gosec // html/template has encoded what comes from the cluster.
}

func render(p page.Page, view, id string) (html string, status int, err error) {
	var webhook page.Webhook
	switch view {
	case views.Map, views.Findings:
	case views.Webhook:
		var known bool
		if webhook, known = p.Webhook(id); !known {
			return "", http.StatusNotFound, errors.New("no webhook has this id: it was deleted, or belongs to another version of its operator now")
		}
	default:
		return "", http.StatusNotFound, fmt.Errorf("there is no view %q", view)
	}
	html, err = views.Render(p, view, webhook)
	return html, http.StatusInternalServerError, err
}
