package serving

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // metrics of requests to the API server
	_ "k8s.io/component-base/metrics/prometheus/workqueue"  // metrics of work queues

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit"
)

// ProbePaths need no authentication. OwnPaths are all paths that the server answers itself.
var (
	ProbePaths = []string{"/healthz", "/livez", "/readyz"}
	OwnPaths   = append([]string{"/metrics"}, ProbePaths...)
)

// maxScrapes limits the requests for metrics of each port: each takes memory until its caller has read the answer.
const maxScrapes = 4

// Check is a reason why a process may not be ready.
type Check struct {
	Name string
	Err  func() error
}

// HandleOwnPaths serves health and metrics. A process is ready when all checks pass.
func HandleOwnPaths(mux *http.ServeMux, metrics prometheus.Gatherer, checks []Check) {
	mux.HandleFunc("/healthz", alive)
	mux.HandleFunc("/livez", alive)
	mux.Handle("/readyz", readiness(checks))
	// The legacy registry has the metrics of Kubernetes' libraries.
	mux.Handle("/metrics", promhttp.HandlerFor(
		prometheus.Gatherers{legacyregistry.DefaultGatherer, metrics},
		promhttp.HandlerOpts{DisableCompression: true, MaxRequestsInFlight: maxScrapes}))
}

func alive(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }

func readiness(checks []Check) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		var results strings.Builder
		code := http.StatusOK
		for _, c := range checks {
			if err := c.Err(); err != nil {
				code = http.StatusServiceUnavailable
				fmt.Fprintf(&results, "[-]%s failed: %v\n", c.Name, err)
			} else {
				fmt.Fprintf(&results, "[+]%s ok\n", c.Name)
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(code)
		fmt.Fprint(w, results.String())
	}
}

// maxHealthConnections is more than the probes and scrapers of one process open.
const maxHealthConnections = 200

// NewHealthServer returns a server with limits: any client that reaches the address may connect.
func NewHealthServer(listener net.Listener, handler http.Handler) (*http.Server, net.Listener) {
	connections := connlimit.New(listener, maxHealthConnections)
	return &http.Server{
		Handler:           connections.Handler(handler),
		ConnContext:       connlimit.ConnContext,
		MaxHeaderBytes:    8 << 10,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       30 * time.Second,
	}, connections
}
