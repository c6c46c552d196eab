// Package metrics holds the metrics of the manager.
package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/probe"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// Metrics are about the work of the manager; a statusCollector exports the state of the cluster.
type Metrics struct {
	registry        prometheus.Registerer
	leader          prometheus.Gauge
	reconciliations *prometheus.HistogramVec
	writes          *prometheus.CounterVec
	probes          *prometheus.CounterVec
	registrations   *prometheus.HistogramVec
	rotations       *prometheus.HistogramVec
	underWay        rotations
}

// New registers the metrics of the manager.
func New(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		registry: registry,
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "olm_webhook_manager_leader", Help: "1 while this replica reconciles objects: it is the leader, or there is no leader election. 0 while it stands by.",
		}),
		reconciliations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "olm_webhook_manager_reconcile_duration_seconds", Help: "Time that one reconciliation of an object took, by kind and outcome.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"kind", "outcome"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "olm_webhook_manager_writes_total", Help: "Writes to derived objects, by verb, kind and outcome.",
		}, []string{"verb", "kind", "outcome"}),
		probes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "olm_webhook_manager_probes_total", Help: "Endpoints of webhooks that were dialled, by what was found: Serving is success.",
		}, []string{"reason"}),
		registrations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "olm_webhook_manager_registration_duration_seconds", Help: "Time from when a webhook was first waited for until it was registered and reachable, by its type.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}, []string{"type"}),
		rotations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "olm_webhook_manager_rotation_duration_seconds", Help: "Time from when a serving certificate left its stable phase until it was back, by who issues it.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 15),
		}, []string{"provider"}),
	}
	// A rate needs a zero to start from.
	for _, reason := range probe.Reasons {
		m.probes.WithLabelValues(string(reason))
	}
	for _, provider := range issuers.Providers {
		if provider.Name != managerv1alpha1.ProviderNone {
			m.rotations.WithLabelValues(string(provider.Name))
		}
	}
	registry.MustRegister(m.leader, m.reconciliations, m.writes, m.probes, m.registrations, m.rotations)
	return m
}

// RegisterStatus exports the status of WebhookRollouts.
func (m *Metrics) RegisterStatus(rollouts func() []*managerv1alpha1.WebhookRollout) {
	m.registry.MustRegister(statusCollector{rollouts, time.Now})
}

// SetLeader records whether this replica reconciles objects.
func (m *Metrics) SetLeader(leads bool) { m.leader.Set(oneIf(leads)) }

// ObserveReconciliation records one reconciliation.
func (m *Metrics) ObserveReconciliation(k queue.Kind, took time.Duration, err error) {
	m.reconciliations.WithLabelValues(string(k), outcome(err)).Observe(took.Seconds())
}

// ObserveWrite counts a write.
func (m *Metrics) ObserveWrite(step rollout.Step, err error) {
	m.writes.WithLabelValues(string(step.Verb), step.Kind(), outcome(err)).Inc()
}

// ObserveProbe counts a probe.
func (m *Metrics) ObserveProbe(found probe.Result) {
	m.probes.WithLabelValues(string(found.Reason)).Inc()
}

// ObserveChange compares two statuses, so that registrations are counted across a restart of the manager.
func (m *Metrics) ObserveChange(k queue.Key, before, after managerv1alpha1.WebhookRolloutStatus, now time.Time) {
	for _, r := range report.NewlyRegistered(before, after, now) {
		m.registrations.WithLabelValues(string(r.Type)).Observe(r.Took.Seconds())
	}
	for provider, took := range m.underWay.completed(k, before, after, now) {
		m.rotations.WithLabelValues(string(provider)).Observe(took.Seconds())
	}
}

func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, informers.ErrStale):
		return "waiting"
	case apierrors.IsConflict(err):
		return "conflict"
	default:
		return "error"
	}
}
