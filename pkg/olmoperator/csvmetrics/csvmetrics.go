// Package csvmetrics exports the metrics of olm-operator about ClusterServiceVersions, with its names and labels: alerts
// and dashboards for OLM v0 use them.
package csvmetrics

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Metrics are about all ClusterServiceVersions that the manager reconciles. Only the leader exports and counts: an alert
// has one series for each ClusterServiceVersion, and a sum counts each once.
type Metrics struct {
	csvs     func() []*operatorsv1alpha1.ClusterServiceVersion
	upgrades prometheus.Counter
	leads    atomic.Bool
}

var (
	descCount = prometheus.NewDesc("csv_count",
		"With --with-olm: how many ClusterServiceVersions exist, without copies.", nil, nil)
	descSucceeded = prometheus.NewDesc("csv_succeeded",
		"With --with-olm: whether the phase of a ClusterServiceVersion is Succeeded (1) or not (0).", []string{"namespace", "name", "version"}, nil)
	descAbnormal = prometheus.NewDesc("csv_abnormal",
		"With --with-olm: 1 for the phase and the reason of a ClusterServiceVersion whose phase is not Succeeded.", []string{"namespace", "name", "version", "phase", "reason"}, nil)
)

// New registers the metrics, and counts upgrades that the caches show.
func New(registry prometheus.Registerer, operators *versions.Index) *Metrics {
	m := Register(registry, operators.ManagedCSVs)
	m.watch(operators.Caches.CSVs, operators.Manages)
	return m
}

// Register registers the metrics. The function returns the ClusterServiceVersions that the manager reconciles.
func Register(registry prometheus.Registerer, csvs func() []*operatorsv1alpha1.ClusterServiceVersion) *Metrics {
	m := &Metrics{csvs: csvs, upgrades: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "csv_upgrade_count", Help: "With --with-olm: how many ClusterServiceVersions began to be replaced by a newer version.",
	})}
	registry.MustRegister(m, m.upgrades)
	return m
}

func (m *Metrics) watch(cache informers.Store[*operatorsv1alpha1.ClusterServiceVersion], manages func(*operatorsv1alpha1.ClusterServiceVersion) bool) {
	for _, informer := range cache.Informers {
		_, err := informer.AddEventHandler(informers.Handler(func(before, after drift.Object) {
			previous, current := asCSV(before), asCSV(after)
			if previous != nil && current != nil && m.leads.Load() && manages(current) && upgradeBegins(previous, current) {
				m.upgrades.Inc()
			}
		}))
		if err != nil {
			panic(err) // only a stopped informer refuses
		}
	}
}

func asCSV(o drift.Object) *operatorsv1alpha1.ClusterServiceVersion {
	csv, _ := o.(*operatorsv1alpha1.ClusterServiceVersion)
	return csv
}

// Fill has no caches of its own to fill.
func (m *Metrics) Fill(context.Context) error { return nil }

// Run exports until the context ends.
func (m *Metrics) Run(ctx context.Context) {
	m.leads.Store(true)
	defer m.leads.Store(false)
	<-ctx.Done()
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	to <- descCount
	to <- descSucceeded
	to <- descAbnormal
}

// Collect implements prometheus.Collector. The series are those of the caches now: none is left of another phase.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	if !m.leads.Load() {
		return
	}
	csvs := m.csvs()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	gauge(descCount, float64(len(csvs)))
	for _, csv := range csvs {
		switch of, succeeded := labelsOf(csv); {
		case succeeded:
			gauge(descSucceeded, 1, of.namespace, of.name, of.version)
		default:
			gauge(descSucceeded, 0, of.namespace, of.name, of.version)
			gauge(descAbnormal, 1, of.namespace, of.name, of.version, of.phase, of.reason)
		}
	}
}
