package cluster

import (
	"bytes"
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

// The metrics of API servers that count calls of webhooks, and the start of their processes.
const (
	metricRejections  = "apiserver_admission_webhook_rejection_count"
	metricFailOpen    = "apiserver_admission_webhook_fail_open_count"
	metricDuration    = "apiserver_admission_webhook_admission_duration_seconds"
	metricConversions = "apiserver_conversion_webhook_request_total"
	metricConverted   = "apiserver_crd_conversion_webhook_duration_seconds"
	metricUnavailable = "aggregator_unavailable_apiservice_total"
	metricStarted     = "process_start_time_seconds"
)

// parseCalls reads the metrics of an API server.
func parseCalls(text []byte) (takeover.Calls, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return takeover.Calls{}, err
	}
	calls := takeover.Calls{Failed: map[string]float64{}, Count: map[string]float64{}, Seconds: map[string]float64{}, Within: map[string]map[float64]float64{}}
	for _, m := range families[metricStarted].GetMetric() {
		calls.Started = time.UnixMilli(int64(1000 * m.GetGauge().GetValue()))
	}
	for _, m := range families[metricRejections].GetMetric() {
		if labelOf(m, "error_type") != "no_error" { // The webhook answered, and refused the request.
			calls.Failed[labelOf(m, "name")] += m.GetCounter().GetValue()
		}
	}
	for _, m := range families[metricFailOpen].GetMetric() {
		calls.Failed[labelOf(m, "name")] += m.GetCounter().GetValue()
	}
	for _, m := range families[metricUnavailable].GetMetric() {
		calls.Failed["APIService "+labelOf(m, "name")] += m.GetCounter().GetValue()
	}
	addConversions(calls, families[metricConverted], families[metricConversions])
	for _, m := range families[metricDuration].GetMetric() {
		addDurations(calls, labelOf(m, "name"), m.GetHistogram())
	}
	return calls, nil
}

// addConversions counts the conversions of each definition. The total has no label of the definition: it counts only if
// the API server does not have the histogram.
func addConversions(calls takeover.Calls, byDefinition, total *dto.MetricFamily) {
	for _, m := range byDefinition.GetMetric() {
		webhook := conversionOf(labelOf(m, "crd_name"))
		addDurations(calls, webhook, m.GetHistogram())
		if labelOf(m, "succeeded") == "false" {
			calls.Failed[webhook] += float64(m.GetHistogram().GetSampleCount())
		}
	}
	if byDefinition != nil {
		return
	}
	for _, m := range total.GetMetric() {
		if labelOf(m, "result") == "failure" {
			calls.Failed["conversion"] += m.GetCounter().GetValue()
		}
	}
}

// conversionOf names the conversion webhook of a definition.
func conversionOf(crd string) string { return "conversion of " + crd }

func addDurations(calls takeover.Calls, webhook string, h *dto.Histogram) {
	calls.Count[webhook] += float64(h.GetSampleCount())
	calls.Seconds[webhook] += h.GetSampleSum()
	if calls.Within[webhook] == nil {
		calls.Within[webhook] = map[float64]float64{}
	}
	for _, b := range h.GetBucket() {
		if !math.IsInf(b.GetUpperBound(), 1) {
			calls.Within[webhook][b.GetUpperBound()] += float64(b.GetCumulativeCount())
		}
	}
}

func labelOf(m *dto.Metric, name string) string {
	for _, pair := range m.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}
