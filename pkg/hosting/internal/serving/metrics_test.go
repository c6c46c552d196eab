package serving_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit/streams"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/serving"
)

func TestUnreadMetricsAreFew(t *testing.T) {
	mux := http.NewServeMux()
	serving.HandleOwnPaths(mux, largerThanAWindow(), nil)
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	conn, err := streams.Dial(t.Context(), server.Listener.Addr().String())
	hostingtest.Must(t, err)
	defer conn.Close()
	for range 200 {
		_, err := conn.Open("/metrics", 1)
		hostingtest.Must(t, err)
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
	hostingtest.Eventually(t, "another caller gets 503", func() bool { return status("/metrics") == http.StatusServiceUnavailable })
	hostingtest.Same(t, "the status of a probe", http.StatusOK, status("/healthz"))
	conn.Close()
	hostingtest.Eventually(t, "metrics are served again", func() bool { return status("/metrics") == http.StatusOK })
}

// largerThanAWindow has more metrics than the 64 KiB that a client of HTTP/2 takes unread. Shorter answers could
// all be sent before others wait.
func largerThanAWindow() prometheus.Gatherer {
	registry := prometheus.NewRegistry()
	values := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "value"}, []string{"number"})
	registry.MustRegister(values)
	for n := range 10_000 {
		values.WithLabelValues(strconv.Itoa(n)).Set(1)
	}
	return registry
}
