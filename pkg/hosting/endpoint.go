package hosting

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"runtime/debug"
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
	ready   atomic.Bool
}

func newEndpoint(name string, w Webhook, m *metrics) *endpoint {
	return &endpoint{name: name, webhook: w.withDefaults(name), metrics: m.forWebhook(name)}
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	review, said, err := e.call(w, r)
	if err == nil {
		err = writeReview(w, review)
	}
	if err != nil {
		klog.Errorf("Webhook %s: %v", e.name, err)
		writeFailure(w, err)
	}
	e.metrics.observe(said, time.Since(began))
}

// call contains what a handler does: a panic fails the call that it happened in.
func (e *endpoint) call(w http.ResponseWriter, r *http.Request) (review any, said outcome, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			klog.Errorf("Webhook %s panicked: %v\n%s", e.name, cause, debug.Stack())
			review, said, err = nil, panicked, internalError(fmt.Errorf("the handler panicked: %v", cause))
		}
	}()
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
	body, err := readBody(ctx, w, r, e.webhook.MaxBodyBytes)
	if err != nil {
		return nil, invalid, err
	}
	defer body.release()
	return e.webhook.Handler.answer(ctx, e.webhook, body.Bytes())
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

func writeReview(w http.ResponseWriter, review any) error {
	body, err := json.Marshal(review)
	if err != nil {
		return internalError(fmt.Errorf("the answer cannot be encoded: %w", err))
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(body)
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
