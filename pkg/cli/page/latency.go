package page

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// Latency is how long calls of a webhook took.
type Latency struct {
	Calls uint64
	Mean  time.Duration
	// P99 is an upper bound: 99 of 100 calls took at most as long. Zero if they took longer than all buckets.
	P99 time.Duration
	// Rejected is the number of calls after which the request was refused. Failed is the number that had no valid answer.
	Rejected, Failed uint64
}

// String returns the latency for people.
func (l Latency) String() string {
	if l.P99 == 0 {
		return fmt.Sprintf("mean %s", rounded(l.Mean))
	}
	return fmt.Sprintf("mean %s, 99\u00a0%% within %s", rounded(l.Mean), rounded(l.P99))
}

// Counts returns the numbers of calls for people.
func (l Latency) Counts() string {
	return fmt.Sprintf("%d calls, %d rejected, %d failed", l.Calls, l.Rejected, l.Failed)
}

func rounded(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(time.Millisecond)
	default:
		return d.Round(100 * time.Microsecond)
	}
}

type latencyKey struct{ name, kind string }

// Latencies are those of admission webhooks, by name and type. API servers do not measure webhooks of one name apart.
type Latencies map[latencyKey]Latency

func latencyType(w doctor.Webhook) string {
	if w.Kind == doctor.Mutating {
		return "admit"
	}
	return "validating"
}

const (
	durationMetric = "apiserver_admission_webhook_admission_duration_seconds"
	// rejectionMetric counts refused requests. Failed calls have the label error_type of failedCall.
	rejectionMetric = "apiserver_admission_webhook_rejection_count"
	failedCall      = "calling_webhook_error"
	// ignoredMetric counts calls that failed without consequence: failurePolicy is Ignore.
	ignoredMetric = "apiserver_admission_webhook_fail_open_count"
)

// ReadLatencies reads the metrics of an API server. These have tens of megabytes in a large cluster: it keeps three of
// them.
func ReadLatencies(metrics io.Reader) (Latencies, error) {
	families, err := familiesOf(metrics)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	sums := map[latencyKey]*histogram{}
	for _, m := range families[durationMetric].GetMetric() {
		key := keyOf(m)
		if sums[key] == nil {
			sums[key] = &histogram{counts: map[float64]uint64{}}
		}
		sums[key].add(m.GetHistogram(), labelOf(m, "rejected") == "true")
	}
	for _, metric := range []string{rejectionMetric, ignoredMetric} {
		for _, m := range families[metric].GetMetric() {
			if sum := sums[keyOf(m)]; sum != nil && (metric == ignoredMetric || labelOf(m, "error_type") == failedCall) {
				sum.failed += uint64(max(0, m.GetCounter().GetValue()))
			}
		}
	}
	all := Latencies{}
	for key, sum := range sums {
		if sum.calls > 0 {
			all[key] = sum.latency()
		}
	}
	return all, nil
}

func familiesOf(metrics io.Reader) (map[string]*dto.MetricFamily, error) {
	var lines bytes.Buffer
	scanner := bufio.NewScanner(metrics)
	for scanner.Scan() {
		name := bytes.TrimPrefix(scanner.Bytes(), []byte("# TYPE "))
		if bytes.HasPrefix(name, []byte(durationMetric)) || bytes.HasPrefix(name, []byte(rejectionMetric)) || bytes.HasPrefix(name, []byte(ignoredMetric)) {
			lines.Write(scanner.Bytes())
			lines.WriteByte('\n')
		}
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&lines)
	return families, cmp.Or(scanner.Err(), err)
}

func keyOf(m *dto.Metric) latencyKey { return latencyKey{labelOf(m, "name"), labelOf(m, "type")} }

func labelOf(m *dto.Metric, name string) string {
	return lists.First(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == name }).GetValue()
}

// histogram is the sum of several.
type histogram struct {
	calls, rejected, failed uint64
	seconds                 float64
	counts                  map[float64]uint64 // of calls, by the upper bound of the bucket
}

func (h *histogram) add(other *dto.Histogram, rejected bool) {
	h.calls += other.GetSampleCount()
	h.seconds += other.GetSampleSum()
	if rejected {
		h.rejected += other.GetSampleCount()
	}
	for _, bucket := range other.GetBucket() {
		h.counts[bucket.GetUpperBound()] += bucket.GetCumulativeCount()
	}
}

func (h *histogram) latency() Latency {
	l := Latency{Calls: h.calls, Rejected: h.rejected, Failed: h.failed, Mean: seconds(h.seconds / float64(h.calls))}
	bounds := make([]float64, 0, len(h.counts))
	for bound, calls := range h.counts {
		if !math.IsInf(bound, 1) && float64(calls) >= 0.99*float64(h.calls) {
			bounds = append(bounds, bound)
		}
	}
	if len(bounds) > 0 {
		l.P99 = seconds(slices.Min(bounds))
	}
	return l
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
