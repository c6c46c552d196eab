package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Only webhooks that were called have series.
func TestCallCollector(t *testing.T) {
	used, unused := calls.Webhook{Step: calls.Mutating, Name: "m.shop.io"}, calls.Webhook{Step: calls.Validating, Name: "v.shop.io"}
	var observed calls.Observation
	for count := range 2 {
		observed = observed.Next(calls.Policy{Interval: time.Second}, calls.Readings{Read: map[string]calls.Reading{"192.0.2.1:6443": {Webhooks: map[calls.Webhook]calls.Counters{
			used: {Calls: 100 * float64(count), Failed: map[string]float64{"code 503": 2 * float64(count)}, Buckets: []calls.Bucket{{Bound: 1, Count: 100 * float64(count)}}},
		}}}}, calls.Known{used: nil, unused: nil}, time.Unix(int64(count), 0))
	}
	registry := prometheus.NewRegistry()
	New(registry).RegisterCalls(func() calls.Observation { return observed })
	installtest.Must(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP olm_webhook_manager_webhook_call_duration_p99_seconds In which time 99 % of the last of these calls ended, as far as the buckets of the API server show.
# TYPE olm_webhook_manager_webhook_call_duration_p99_seconds gauge
olm_webhook_manager_webhook_call_duration_p99_seconds{api_server="192.0.2.1:6443",step="admit",webhook="m.shop.io"} 0.99
# HELP olm_webhook_manager_webhook_calls_total How often an API server called webhooks of a name in a step of admission (admit or validating), as its metrics show. Counted since the manager leads.
# TYPE olm_webhook_manager_webhook_calls_total counter
olm_webhook_manager_webhook_calls_total{api_server="192.0.2.1:6443",step="admit",webhook="m.shop.io"} 100
# HELP olm_webhook_manager_webhook_failed_calls_admitted_total How many of the failed calls belong to requests that were admitted, because failurePolicy is Ignore or the webhook is open. Dry runs count, too.
# TYPE olm_webhook_manager_webhook_failed_calls_admitted_total counter
olm_webhook_manager_webhook_failed_calls_admitted_total{api_server="192.0.2.1:6443",step="admit",webhook="m.shop.io"} 0
# HELP olm_webhook_manager_webhook_failed_calls_total How many of these calls failed.
# TYPE olm_webhook_manager_webhook_failed_calls_total counter
olm_webhook_manager_webhook_failed_calls_total{api_server="192.0.2.1:6443",step="admit",webhook="m.shop.io"} 2
`), "olm_webhook_manager_webhook_calls_total", "olm_webhook_manager_webhook_failed_calls_total", "olm_webhook_manager_webhook_failed_calls_admitted_total", "olm_webhook_manager_webhook_call_duration_p99_seconds"))
}
