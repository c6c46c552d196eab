package hosting

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// endpoint serves one webhook over HTTP.
type endpoint struct {
	name    string
	webhook *Webhook
	metrics *webhookMetrics
	load    *load
	ready   atomic.Bool
}

// NewHTTPHandler returns what serves a webhook over HTTP, without what a Builder puts
// around it: for tests of a handler, with net/http/httptest, and for servers of other
// make. Prepare is the caller's to call.
func NewHTTPHandler(name string, w Webhook) (http.Handler, error) {
	e := newEndpoint(name, w, newMetrics(), newLoad())
	if err := e.webhook.check(); err != nil {
		return nil, fmt.Errorf("webhook %q: %w", name, err)
	}
	e.ready.Store(true)
	return e, nil
}

func newEndpoint(name string, w Webhook, m *metrics, l *load) *endpoint {
	e := &endpoint{name: name, webhook: w.withDefaults(name), metrics: m.forWebhook(name), load: l}
	l.maxBodyMemory = max(l.maxBodyMemory, e.webhook.MaxBodyBytes) // each body that is allowed can be read
	return e
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	answer, said, err := e.call(w, r, began)
	if err != nil {
		e.log(said, err)
		writeFailure(w, r, err)
	} else {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // who has hung up needs no answer
	}
	e.metrics.observe(said, time.Since(began))
}

// log leaves out, unless asked, what any caller can provoke as often as he likes.
func (e *endpoint) log(said outcome, err error) {
	switch said {
	case invalid, overloaded:
		klog.V(2).Infof("Webhook %s: %v", e.name, err)
	case panicked: // call has said more of it
	default:
		klog.Errorf("Webhook %s: %v", e.name, err)
	}
}

// call returns at the deadline at the latest, whatever the handler does, unless the caller
// has hung up: then nobody waits, and call returns with the handler. So a connection has no
// more handlers than HTTP/2 streams, also when the client resets the streams.
func (e *endpoint) call(w http.ResponseWriter, r *http.Request, began time.Time) (answer []byte, said outcome, err error) {
	if err := limitTime(w, began.Add(defaultTimeout)); err != nil {
		return nil, failed, err
	}
	if err := checkHTTP(w, r); err != nil {
		return nil, invalid, err
	}
	if !e.ready.Load() {
		return nil, unready, unavailable("webhook %s is not prepared yet: try again in a moment", e.name)
	}
	ctx, cancel, err := withDeadline(r)
	if err != nil {
		return nil, invalid, err
	}
	defer cancel()
	if err := e.load.begin(); err != nil {
		return nil, overloaded, err
	}
	body, err := e.readBody(ctx, w, r)
	if err != nil {
		e.load.end()
		return nil, outcomeOf(err), err
	}
	done := make(chan answered, 1)
	go e.handle(ctx, body, done)
	select {
	case a := <-done:
		if ctx.Err() == nil {
			return a.answer, a.said, a.err
		}
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			<-done
		}
	}
	return nil, failed, late(ctx)
}

func (e *endpoint) readBody(ctx context.Context, w http.ResponseWriter, r *http.Request) (*body, error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := limitTime(w, deadline); err != nil {
			return nil, err
		}
	}
	body, err := e.load.readBody(r, e.webhook.MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	if err := e.load.mayDecode(body, e.webhook.Handler.cost(body.data)); err != nil {
		body.release()
		return nil, err
	}
	return body, nil
}

// outcomeOf returns the outcome of a call whose body could not be read.
func outcomeOf(err error) outcome {
	var f *failure
	if errors.As(err, &f) && f.code == http.StatusTooManyRequests {
		return overloaded
	}
	return invalid
}

func checkHTTP(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &failure{http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			fmt.Sprintf("the method is %s: a webhook takes POST", r.Method)}
	}
	const json = "application/json"
	if header := r.Header.Get("Content-Type"); header != json {
		if mediaType, _, err := mime.ParseMediaType(header); err != nil || mediaType != json {
			return &failure{http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
				fmt.Sprintf("the content type is %q: a webhook takes %s", header, json)}
		}
	}
	return nil
}

// defaultTimeout is for callers that name none, as for conversions the API server does;
// it is the longest that an API server lets anybody wait.
const defaultTimeout = 30 * time.Second

// withDeadline returns a context that ends when the API server has stopped waiting, by
// the timeout that it names, or when it hangs up.
func withDeadline(r *http.Request) (context.Context, context.CancelFunc, error) {
	timeout := defaultTimeout
	if named := r.URL.Query().Get("timeout"); named != "" {
		d, err := time.ParseDuration(named)
		if err != nil || d <= 0 {
			return nil, nil, badRequest("timeout=%q is no time to answer in: name one like 10s", named)
		}
		timeout = min(d, defaultTimeout)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	return ctx, cancel, nil
}
