package controller

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// Metrics are what the manager tells Prometheus.
type Metrics struct {
	passes   *prometheus.HistogramVec
	writes   *prometheus.CounterVec
	webhooks *prometheus.GaugeVec
}

// NewMetrics registers the manager's metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		passes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "olm_webhook_manager_pass_duration_seconds", Help: "Time that one look at an object took, by kind and outcome.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"kind", "outcome"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "olm_webhook_manager_writes_total", Help: "Writes to derived objects, by verb, kind and outcome.",
		}, []string{"verb", "kind", "outcome"}),
		webhooks: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "olm_webhook_manager_webhooks", Help: "Declared webhooks, by ClusterServiceVersion and state.",
		}, []string{"namespace", "csv", "state"}),
	}
	registry.MustRegister(m.passes, m.writes, m.webhooks)
	return m
}

func (m *Metrics) observePass(k kind, took time.Duration, err error) {
	m.passes.WithLabelValues(string(k), outcome(err)).Observe(took.Seconds())
}

func (m *Metrics) observeWrite(step rollout.Step, err error) {
	m.writes.WithLabelValues(string(step.Verb), step.Kind(), outcome(err)).Inc()
}

func (m *Metrics) observeStatus(k key, status managerv1alpha1.WebhookRolloutStatus) {
	count := map[managerv1alpha1.WebhookState]int{
		managerv1alpha1.WebhookWaiting: 0, managerv1alpha1.WebhookRegistered: 0, managerv1alpha1.WebhookUnreachable: 0, managerv1alpha1.WebhookBlocked: 0,
		managerv1alpha1.WebhookDisabled: 0,
	}
	for _, d := range status.Deployments {
		for _, w := range d.Webhooks {
			count[w.State]++
		}
	}
	for state, n := range count {
		m.webhooks.WithLabelValues(k.namespace, k.name, string(state)).Set(float64(n))
	}
}

// forget drops the figures of a ClusterServiceVersion that is gone.
func (m *Metrics) forget(k key) {
	m.webhooks.DeletePartialMatch(prometheus.Labels{"namespace": k.namespace, "csv": k.name})
}

func outcome(err error) string {
	if err != nil {
		return "error"
	}
	return "ok"
}
