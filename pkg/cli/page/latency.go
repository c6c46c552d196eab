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

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// Latency is how long calls of a webhook took.
type Latency struct {
	Calls uint64
	Mean  time.Duration
	// P99 is an upper bound: 99 of 100 calls took at most as long. Zero if they took longer than all buckets.
	P99 time.Duration
	// Rejected is the number of calls that denied the request, or failed.
	Rejected uint64
}

// String returns the latency for people.
func (l Latency) String() string {
	text := fmt.Sprintf("mean %s, 99 %% within %s", rounded(l.Mean), rounded(l.P99))
	if l.P99 == 0 {
		text = fmt.Sprintf("mean %s", rounded(l.Mean))
	}
	return fmt.Sprintf("%s, %d calls, %d rejected", text, l.Calls, l.Rejected)
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

const durationMetric = "apiserver_admission_webhook_admission_duration_seconds"

// ReadLatencies reads the metrics of an API server. These have tens of megabytes in a large cluster: it keeps one of them.
func ReadLatencies(metrics io.Reader) (Latencies, error) {
	var lines bytes.Buffer
	scanner := bufio.NewScanner(metrics)
	for scanner.Scan() {
		if bytes.HasPrefix(bytes.TrimPrefix(scanner.Bytes(), []byte("# TYPE ")), []byte(durationMetric)) {
			lines.Write(scanner.Bytes())
			lines.WriteByte('\n')
		}
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&lines)
	if err = cmp.Or(scanner.Err(), err); err != nil {
		return nil, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	sums := map[latencyKey]*histogram{}
	for _, m := range families[durationMetric].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		key := latencyKey{labels["name"], labels["type"]}
		if sums[key] == nil {
			sums[key] = &histogram{counts: map[float64]uint64{}}
		}
		sums[key].add(m.GetHistogram(), labels["rejected"] == "true")
	}
	all := Latencies{}
	for key, sum := range sums {
		if sum.calls > 0 {
			all[key] = sum.latency()
		}
	}
	return all, nil
}

// histogram is the sum of several.
type histogram struct {
	calls, rejected uint64
	seconds         float64
	counts          map[float64]uint64 // of calls, by the upper bound of the bucket
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
	l := Latency{Calls: h.calls, Rejected: h.rejected, Mean: seconds(h.seconds / float64(h.calls))}
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
