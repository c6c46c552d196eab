package serving

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit/streams"
)

// Callers that do not read the metrics get few answers at once, and do not delay probes.
func TestUnreadMetricsAreFew(t *testing.T) {
	mux := http.NewServeMux()
	HandleOwnPaths(mux, prometheus.NewRegistry(), nil)
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	conn, err := streams.Dial(t.Context(), server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range 200 {
		if _, err := conn.Open("/metrics", 1); err != nil {
			t.Fatal(err)
		}
	}
	status := func(path string) int {
		response, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Error(err)
			return 0
		}
		response.Body.Close()
		return response.StatusCode
	}
	await(t, "another caller gets 503", func() bool { return status("/metrics") == http.StatusServiceUnavailable })
	if code := status("/healthz"); code != http.StatusOK {
		t.Errorf("a probe gets HTTP %d", code)
	}
	conn.Close()
	await(t, "metrics are served again", func() bool { return status("/metrics") == http.StatusOK })
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(30 * time.Second); !holds(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("not so after 30 s: %s", what)
		}
	}
}
