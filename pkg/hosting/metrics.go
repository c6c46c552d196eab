package hosting

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
)

// metrics have a registry of their own: tests, and processes with several commands, register no metric twice.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hosting_webhook_requests_total",
			Help: "Calls of a webhook, by outcome.",
		}, []string{"webhook", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "hosting_webhook_duration_seconds",
			Help:    "Duration of calls of a webhook in seconds, by outcome.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30},
		}, []string{"webhook", "outcome"}),
	}
	m.registry.MustRegister(m.requests, m.duration)
	return m
}

// addWebhook creates the metrics of a webhook at the start, so that a rate does not miss the first call.
func (m *metrics) addWebhook(name string) {
	for _, o := range outcomes {
		m.requests.WithLabelValues(name, string(o))
		m.duration.WithLabelValues(name, string(o))
	}
}

func (m *metrics) observe(webhook string, o outcome, took time.Duration) {
	m.requests.WithLabelValues(webhook, string(o)).Inc()
	m.duration.WithLabelValues(webhook, string(o)).Observe(took.Seconds())
}

func (m *metrics) watchCalls(c *limits.Calls) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hosting_webhook_requests_inflight",
			Help: "Calls whose handler has not returned, including calls whose caller has closed the connection.",
		}, func() float64 { return float64(c.Requests()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hosting_webhook_body_memory_bytes",
			Help: "Memory of the bodies of calls in progress, without the first 64 KiB of each.",
		}, func() float64 { return float64(c.BodyMemory()) }),
	)
}

func (m *metrics) watchExpiry(c *certificates.Files) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hosting_certificate_expiration_timestamp_seconds",
		Help: "When the serving certificate expires, in seconds since 1970; 0 if there is none.",
	}, func() float64 {
		if expiry := c.Expiry(); !expiry.IsZero() {
			return float64(expiry.Unix())
		}
		return 0
	}))
}

// outcome is the result of a call, and a label of metrics.
type outcome string

const (
	allowed    outcome = "allowed"
	patched    outcome = "patched"
	denied     outcome = "denied"
	converted  outcome = "converted"
	refused    outcome = "refused"    // an object that cannot be converted
	invalid    outcome = "invalid"    // not a valid request for the webhook
	unready    outcome = "unready"    // before the webhook was prepared
	failed     outcome = "failed"     // the handler returned an error
	panicked   outcome = "panicked"   // the handler panicked
	overloaded outcome = "overloaded" // beyond a limit of calls in progress
)

var outcomes = []outcome{allowed, patched, denied, converted, refused, invalid, unready, failed, panicked, overloaded}
