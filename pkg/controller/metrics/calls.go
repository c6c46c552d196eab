package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
)

// callCollector exports what the manager reads from API servers. A standby exports nothing.
type callCollector struct{ last func() calls.Observation }

var (
	labelsOfCalls = []string{"api_server", "step", "webhook"}

	descCalls = prometheus.NewDesc("olm_webhook_manager_webhook_calls_total",
		"How often an API server called webhooks of a name in a step of admission (admit or validating), as its metrics show. Counted since the manager leads.", labelsOfCalls, nil)
	descFailedCalls = prometheus.NewDesc("olm_webhook_manager_webhook_failed_calls_total",
		"How many of these calls failed.", labelsOfCalls, nil)
	descAdmittedCalls = prometheus.NewDesc("olm_webhook_manager_webhook_failed_calls_admitted_total",
		"How many of the failed calls belong to requests that were admitted, because failurePolicy is Ignore or the webhook is open. Dry runs count, too.", labelsOfCalls, nil)
	descCallDuration = prometheus.NewDesc("olm_webhook_manager_webhook_call_duration_p99_seconds",
		"In which time 99 % of the last of these calls ended, as far as the buckets of the API server show.", labelsOfCalls, nil)
)

// RegisterCalls exports what is known about the calls of API servers.
func (m *Metrics) RegisterCalls(last func() calls.Observation) {
	m.registry.MustRegister(callCollector{last})
}

func (c callCollector) Describe(to chan<- *prometheus.Desc) {
	to <- descCalls
	to <- descFailedCalls
	to <- descAdmittedCalls
	to <- descCallDuration
}

func (c callCollector) Collect(to chan<- prometheus.Metric) {
	for address, history := range c.last().Servers {
		server := label("api_server", address)
		for webhook, state := range history.Webhooks {
			if state.Calls == 0 {
				continue
			}
			step, name := label("step", string(webhook.Step)), label("webhook", webhook.Name)
			to <- counter{gaugeOf(descCalls, state.Calls, server, step, name)}
			to <- counter{gaugeOf(descFailedCalls, state.Failed, server, step, name)}
			to <- counter{gaugeOf(descAdmittedCalls, state.Admitted, server, step, name)}
			to <- gaugeOf(descCallDuration, state.Percentile99, server, step, name)
		}
	}
}
