package hosting

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

type keeper struct {
	Handler

	proceed chan struct{}
	kept    chan string
}

func (k keeper) answer(_ context.Context, _ *Webhook, body []byte) (any, outcome, error) {
	if strings.HasPrefix(string(body), "slow") {
		<-k.proceed
		k.kept <- string(body)
	}
	return nil, allowed, nil
}

// A later call does not overwrite the body of a handler that is still running.
func TestALateHandlerKeepsItsBody(t *testing.T) {
	k := keeper{
		Handler: Validating(func(context.Context, Request[*corev1.Pod]) error { return nil }),
		proceed: make(chan struct{}), kept: make(chan string),
	}
	handler, err := NewHTTPHandler("pods", Webhook{Handler: k, Kinds: []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Pod")}})
	hostingtest.Must(t, err)
	call := func(timeout, body string) int {
		request := httptest.NewRequest(http.MethodPost, "/pods?timeout="+timeout, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, request)
		return response.Code
	}
	const slow = "slow as can be"
	hostingtest.Same(t, "the status of the slow call", http.StatusGatewayTimeout, call("20ms", slow))
	for range 100 {
		if code := call("30s", strings.Repeat("x", len(slow))); code != http.StatusOK {
			t.Fatalf("HTTP %d", code)
		}
	}
	close(k.proceed)
	hostingtest.Same(t, "the body of the late handler", slow, <-k.kept)
}
