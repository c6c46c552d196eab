package hosting

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
)

// The server's own paths: the probes, which nobody needs to be authenticated for, and the
// metrics.
var (
	probePaths = []string{"/healthz", "/livez", "/readyz"}
	ownPaths   = append([]string{"/metrics"}, probePaths...)
)

// check is one reason that a process may have not to be ready.
type check struct {
	name string
	err  func() error
}

// handleOwnPaths serves health and metrics. A process is alive while it answers; it is
// ready when all checks pass.
func handleOwnPaths(mux *http.ServeMux, m *metrics, checks []check) {
	mux.HandleFunc("/healthz", alive)
	mux.HandleFunc("/livez", alive)
	mux.Handle("/readyz", readiness(checks))
	// Those that Kubernetes' own libraries collect are served with ours: work queues,
	// requests to the API server, authentication.
	mux.Handle("/metrics", promhttp.HandlerFor(
		prometheus.Gatherers{legacyregistry.DefaultGatherer, m.registry}, promhttp.HandlerOpts{}))
}

func alive(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, "ok")
}

// readiness names every check and what it finds, in the notation of the API server.
func readiness(checks []check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var said strings.Builder
		code := http.StatusOK
		for _, c := range checks {
			if err := c.err(); err != nil {
				code = http.StatusServiceUnavailable
				fmt.Fprintf(&said, "[-]%s failed: %v\n", c.name, err)
			} else {
				fmt.Fprintf(&said, "[+]%s ok\n", c.name)
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		fmt.Fprint(w, said.String())
	}
}
