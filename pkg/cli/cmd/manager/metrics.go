package manager

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // workqueue_*, rest_client_*, leader_election_*
)

// gatherers adds to the manager's own metrics what client-go tells of its queue, its
// requests and the lead, and what Go tells of the process, all under their usual names.
func gatherers(own prometheus.Gatherer) prometheus.Gatherer {
	return prometheus.Gatherers{own, legacyregistry.DefaultGatherer}
}
