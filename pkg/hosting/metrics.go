package hosting

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are of one process. They have a registry of their own, so that tests and
// processes with several commands do not register anything twice.
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
			Help: "Calls of a webhook, by what became of them.",
		}, []string{"webhook", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "hosting_webhook_duration_seconds",
			Help:    "Time from the first to the last byte of a call of a webhook, by what became of it.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30},
		}, []string{"webhook", "outcome"}),
	}
	m.registry.MustRegister(m.requests, m.duration)
	return m
}

// webhookMetrics are those of one webhook. Its series are there from the beginning, so
// that a rate does not miss the first call.
type webhookMetrics struct {
	requests map[outcome]prometheus.Counter
	duration map[outcome]prometheus.Observer
}

func (m *metrics) forWebhook(name string) *webhookMetrics {
	w := &webhookMetrics{requests: map[outcome]prometheus.Counter{}, duration: map[outcome]prometheus.Observer{}}
	for _, o := range outcomes {
		w.requests[o] = m.requests.WithLabelValues(name, string(o))
		w.duration[o] = m.duration.WithLabelValues(name, string(o))
	}
	return w
}

func (w *webhookMetrics) observe(o outcome, took time.Duration) {
	w.requests[o].Inc()
	w.duration[o].Observe(took.Seconds())
}

// watchLoad adds what the calls in progress hold.
func (m *metrics) watchLoad(l *load) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hosting_webhook_requests_inflight",
			Help: "Calls whose handler has not returned, also those whose caller has hung up.",
		}, func() float64 { return float64(l.requests.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "hosting_webhook_body_memory_bytes",
			Help: "Memory of the bodies of those calls, without the first 64 KiB of each.",
		}, func() float64 { return float64(l.bodyMemory.Load()) }),
	)
}

// watchExpiry adds when the serving certificate ends, to alert on before it does.
func (m *metrics) watchExpiry(c *certificate) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "hosting_certificate_expiration_timestamp_seconds",
		Help: "When the serving certificate expires, in seconds since 1970; 0 while there is none.",
	}, func() float64 {
		if end := c.expiry(); !end.IsZero() {
			return float64(end.Unix())
		}
		return 0
	}))
}
