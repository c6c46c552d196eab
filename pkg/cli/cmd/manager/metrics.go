package manager

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // workqueue_*, rest_client_*, leader_election_*
)

// gatherers returns the manager's own metrics and those of client-go (queue,
// requests, leader election) and of the Go runtime, all under their usual names.
func gatherers(own prometheus.Gatherer) prometheus.Gatherer {
	return prometheus.Gatherers{own, legacyregistry.DefaultGatherer}
}
