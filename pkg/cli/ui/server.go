// Package ui serves the page of package page to the user of this machine.
package ui

import (
	"context"
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
)

// Reader reads the cluster with the permissions of the user.
type Reader interface {
	// Read returns the facts except the answers of endpoints.
	Read(ctx context.Context) (page.Facts, error)
	// Dial returns the answers of all endpoints, by webhook, and when they were read.
	Dial(ctx context.Context) (map[string][]doctor.Answer, time.Time, error)
}

// maxAge is how old facts are at most when a view is loaded. Views that are open are updated after changes.
const maxAge = 2 * time.Second

const writeTimeout = 30 * time.Second

// Handler serves all views below the path of its token. Its methods can be called at the same time.
type Handler struct {
	reader Reader
	token  string
	views  views

	mutex     sync.Mutex // of the fields below; it is held during a read, so that there is one at a time
	read      *reading
	answers   map[string][]doctor.Answer
	dialledAt time.Time // the last attempt
	dialError error     // of the last attempt
	history   page.History
}

// reading is the result of one read.
type reading struct {
	page page.Page
	at   time.Time
	err  error
}

// NewHandler returns a handler with a random token.
func NewHandler(reader Reader) *Handler {
	return &Handler{reader: reader, token: rand.Text(), views: views{open: map[chan struct{}]bool{}, opened: make(chan struct{}, 1)}, history: page.History{}}
}

// Path is the start of the address of all views. It contains the token.
func (h *Handler) Path() string { return "/" + h.token + "/" }

// Refresh reads the cluster again if a view is open, and updates the views if something has changed.
func (h *Handler) Refresh(ctx context.Context) {
	if h.views.count() == 0 {
		return
	}
	h.mutex.Lock()
	before := h.read
	h.mutex.Unlock()
	if now := h.readAgain(ctx, 0); before == nil || now.err != nil || !now.page.Same(before.page) {
		h.views.update()
	}
}

// dialPeriod is the time after which the endpoints are dialled again.
const dialPeriod = time.Minute

// DialEndpoints dials the endpoints while a view is open, until the context ends.
func (h *Handler) DialEndpoints(ctx context.Context) {
	for timer := time.NewTicker(dialPeriod); ; {
		select {
		case <-ctx.Done():
			return
		case <-h.views.opened:
		case <-timer.C:
		}
		if h.views.count() > 0 && time.Since(h.lastDial()) >= dialPeriod {
			h.dial(ctx)
		}
	}
}

func (h *Handler) lastDial() time.Time {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.dialledAt
}

func (h *Handler) dial(ctx context.Context) {
	answers, at, err := h.reader.Dial(ctx)
	h.mutex.Lock()
	h.answers, h.dialledAt, h.dialError = answers, at, err
	h.mutex.Unlock()
	h.Refresh(ctx)
}

// readAgain returns the last reading if it is not older than maxAge.
func (h *Handler) readAgain(ctx context.Context, maxAge time.Duration) reading {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.read != nil && time.Since(h.read.at) < maxAge {
		return *h.read
	}
	facts, err := h.reader.Read(ctx)
	now := time.Now()
	if err != nil {
		return reading{at: now, err: err}
	}
	if facts.Answers, facts.DialledAt = h.answers, h.dialledAt; h.dialError != nil {
		facts.DialledAt, facts.NotDialled = time.Time{}, h.dialError.Error()
	}
	h.history = h.history.Add(facts, now)
	h.read = &reading{page: page.New(facts, h.history, now), at: now}
	return *h.read
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
		http.Redirect(w, r, page.ViewMap, http.StatusFound)
	case "events":
		h.views.serve(w, r)
	default:
		h.serveView(w, r, view)
	}
}

func (h *Handler) serveView(w http.ResponseWriter, r *http.Request, view string) {
	read := h.readAgain(r.Context(), maxAge)
	if read.err != nil {
		http.Error(w, "the cluster could not be read: "+read.err.Error(), http.StatusBadGateway)
		return
	}
	var html string
	var err error
	switch view {
	case page.ViewMap:
		html, err = read.page.Map()
	case page.ViewFindings:
		html, err = read.page.FindingsView()
	case page.ViewWebhook:
		webhook, known := read.page.Webhook(r.URL.Query().Get("id"))
		if !known {
			http.Error(w, "no webhook of this cluster has this id: it may have been deleted", http.StatusNotFound)
			return
		}
		html, err = read.page.WebhookView(webhook)
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	// The read of the cluster may have taken long.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	_, _ = w.Write([]byte(html)) //nolint:gosec // html/template has encoded what comes from the cluster.
}
