package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/httperror"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/quote"
)

type endpoint struct {
	name    string
	webhook *Webhook
	metrics *metrics
	calls   *limits.Calls
	ready   atomic.Bool
}

// NewHTTPHandler returns a handler that serves a webhook over HTTP, without the server of a Builder:
// for tests with net/http/httptest, and for other servers. It does not call Prepare.
func NewHTTPHandler(name string, w Webhook) (http.Handler, error) {
	e := newEndpoint(name, w, newMetrics(), limits.NewCalls())
	if err := e.webhook.check(); err != nil {
		return nil, fmt.Errorf("webhook %q: %w", name, err)
	}
	e.ready.Store(true)
	return e, nil
}

func newEndpoint(name string, w Webhook, m *metrics, calls *limits.Calls) *endpoint {
	m.addWebhook(name)
	e := &endpoint{name: name, webhook: w.withDefaults(name), metrics: m, calls: calls}
	calls.MaxBodyMemory = max(calls.MaxBodyMemory, e.webhook.MaxBodyBytes) // any allowed body can be read
	return e
}

// prepared returns an error until Prepare has returned. It is a check of /readyz.
func (e *endpoint) prepared() error {
	if !e.ready.Load() {
		return errors.New("it is being prepared")
	}
	return nil
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	answer, end, outcome, err := e.call(w, r, began)
	defer end() // the answer takes memory until the caller has read it
	if err != nil {
		e.log(outcome, err)
		httperror.Write(w, r, err)
	} else {
		w.Header().Set("Content-Type", "application/json")
		// The caller may have closed the connection.
		_, _ = w.Write(answer) //nolint:gosec // G705: JSON, which no browser renders
	}
	e.metrics.observe(e.name, outcome, time.Since(began))
}

// log logs errors that any caller can cause only at a high verbosity.
func (e *endpoint) log(o outcome, err error) {
	switch o {
	case invalid, overloaded:
		klog.V(2).InfoS("Refused a call", "webhook", e.name, "reason", err)
	case panicked: // run has logged it
	default:
		klog.ErrorS(err, "Cannot answer a call", "webhook", e.name)
	}
}

// call returns at the deadline at the latest, even if the handler is still running. If the caller has closed the
// connection, call returns with the handler: then a connection has no more handlers than HTTP/2 streams, even if the
// client resets them. The call counts until end is called and its handler has returned.
func (e *endpoint) call(w http.ResponseWriter, r *http.Request, began time.Time) (answer []byte, end func(), outcome outcome, err error) {
	end = func() {}
	if err := httperror.SetDeadlines(w, began.Add(defaultTimeout)); err != nil {
		return nil, end, failed, err
	}
	if err := checkHTTP(w, r); err != nil {
		return nil, end, invalid, err
	}
	if !e.ready.Load() {
		return nil, end, unready, httperror.Unavailable("webhook %s is not prepared yet: retry", e.name)
	}
	ctx, cancel, err := withDeadline(r)
	if err != nil {
		return nil, end, invalid, err
	}
	defer cancel()
	if err := e.calls.Begin(); err != nil {
		return nil, end, overloaded, err
	}
	body, err := e.readBody(ctx, w, r)
	if err != nil {
		return nil, e.calls.End, outcomeOf(err), err
	}
	release := func() {
		body.Release()
		e.calls.End()
	}
	done := make(chan result, 1)
	go e.run(ctx, body, done)
	select {
	case result := <-done:
		if ctx.Err() == nil {
			return result.answer, release, result.outcome, result.err
		}
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, func() { go func() { <-done; release() }() }, failed, late(ctx)
		}
		<-done
	}
	return nil, release, failed, late(ctx)
}

func late(ctx context.Context) error {
	return httperror.New(http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
		"the handler did not return by the call's deadline: %v", context.Cause(ctx))
}

func (e *endpoint) readBody(ctx context.Context, w http.ResponseWriter, r *http.Request) (*limits.Body, error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := httperror.SetDeadlines(w, deadline); err != nil {
			return nil, err
		}
	}
	body, err := e.calls.ReadBody(r, e.webhook.MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	if err := e.calls.Decode(body, e.webhook.Handler.cost(body.Data)); err != nil {
		body.Release()
		return nil, err
	}
	return body, nil
}

func outcomeOf(err error) outcome {
	if apierrors.IsTooManyRequests(err) {
		return overloaded
	}
	return invalid
}

func checkHTTP(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return httperror.New(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "the method is %s: a webhook accepts POST", r.Method)
	}
	const json = "application/json"
	if header := r.Header.Get("Content-Type"); header != json {
		if mediaType, _, err := mime.ParseMediaType(header); err != nil || mediaType != json {
			return httperror.New(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
				"the content type is %q: a webhook accepts %s", header, json)
		}
	}
	return nil
}

func notFound(path string, endpoints []*endpoint) error {
	var paths []string
	for _, e := range endpoints {
		paths = append(paths, e.webhook.Path)
	}
	// API servers report the end of this message, as for any server. A manager recognizes it.
	return httperror.New(http.StatusNotFound, metav1.StatusReasonNotFound, "there is no webhook at %q: webhooks are at %s: the server could not find the requested resource", path, quote.List(paths))
}

// defaultTimeout is for callers that send none. It is the longest timeout of API servers.
const defaultTimeout = 30 * time.Second

// limitTime limits the time of requests for any path, including paths without a webhook.
func limitTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := httperror.SetDeadlines(w, time.Now().Add(defaultTimeout)); err != nil {
			httperror.Write(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// withDeadline returns a context that ends at the caller's timeout, or when it closes the connection.
func withDeadline(r *http.Request) (context.Context, context.CancelFunc, error) {
	timeout := defaultTimeout
	if value := r.URL.Query().Get("timeout"); value != "" {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return nil, nil, httperror.BadRequest("timeout=%q is not a positive duration such as 10s", value)
		}
		timeout = min(d, defaultTimeout)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	return ctx, cancel, nil
}

type result struct {
	answer  []byte
	outcome outcome
	err     error
}

// run runs the handler until it returns, which may be after the end of the call. The handler owns
// the body until then. A panic fails only this call.
func (e *endpoint) run(ctx context.Context, body *limits.Body, done chan<- result) {
	r := result{outcome: failed, err: httperror.Internal(errors.New("the handler ended its goroutine"))}
	defer func() {
		if cause := recover(); cause != nil {
			klog.ErrorS(nil, "A handler panicked", "webhook", e.name, "cause", cause, "stack", string(debug.Stack()))
			r = result{outcome: panicked, err: httperror.Internal(fmt.Errorf("the handler panicked: %v", cause))}
		}
		body.ReleaseDecoded()
		done <- r
	}()
	r = e.answer(ctx, body.Data)
}

func (e *endpoint) answer(ctx context.Context, body []byte) result {
	review, outcome, err := e.webhook.Handler.answer(ctx, e.webhook, body)
	if err != nil {
		return result{outcome: outcome, err: err}
	}
	answer, err := json.Marshal(review)
	if err != nil {
		return result{outcome: failed, err: httperror.Internal(fmt.Errorf("cannot encode the answer: %w", err))}
	}
	return result{answer: answer, outcome: outcome}
}
