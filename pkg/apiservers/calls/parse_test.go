package calls

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const metrics = `# HELP apiserver_admission_webhook_request_total [ALPHA] Admission webhook request total
# TYPE apiserver_admission_webhook_request_total counter
apiserver_admission_webhook_request_total{code="200",name="v.example.com",operation="CREATE",rejected="false",type="validating"} 7
apiserver_admission_webhook_request_total{code="200",name="v.example.com",operation="UPDATE",rejected="false",type="validating"} 2
apiserver_admission_webhook_request_total{code="403",name="v.example.com",operation="CREATE",rejected="true",type="validating"} 3
apiserver_admission_webhook_request_total{code="503",name="v.example.com",operation="CREATE",rejected="true",type="validating"} 5
apiserver_admission_webhook_request_total{code="200",name="v.example.com",operation="CREATE",rejected="false",type="admit"} 90
apiserver_admission_webhook_request_total{code="200",name="other.example.com",operation="CREATE",rejected="false",type="validating"} 91
apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="v.example.com",operation="CREATE",rejection_code="503",type="validating"} 4
apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="v.example.com",operation="UPDATE",rejection_code="503",type="validating"} 1
apiserver_admission_webhook_rejection_count{error_type="no_error",name="v.example.com",operation="CREATE",rejection_code="403",type="validating"} 3
apiserver_admission_webhook_rejection_count{error_type="apiserver_internal_error",name="v.example.com",operation="CREATE",rejection_code="0",type="validating"} 8
apiserver_admission_webhook_fail_open_count{name="v.example.com",type="validating"} 6 1700000000000
apiserver_admission_webhook_fail_open_count{name="fail-open.v.example.com",type="validating"} 2
apiserver_admission_webhook_fail_open_count{name="fail-open.other.example.com",type="validating"} 30
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v.example.com",operation="CREATE",rejected="false",type="validating",le="0.005"} 1
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v.example.com",operation="CREATE",rejected="false",type="validating",le="+Inf"} 2
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v.example.com",operation="CREATE",rejected="true",type="validating",le="0.005"} 10
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v.example.com",operation="CREATE",rejected="true",type="validating",le="+Inf"} 20
apiserver_admission_webhook_admission_duration_seconds_sum{name="v.example.com",operation="CREATE",rejected="true",type="validating"} 1.5
apiserver_admission_webhook_admission_duration_seconds_count{name="v.example.com",operation="CREATE",rejected="true",type="validating"} 20
apiserver_request_total{code="200"} this is not parsed
process_start_time_seconds 1.7e+09
`

var wanted = Webhook{Validating, "v.example.com"}

func TestRead(t *testing.T) {
	reading, err := Read(strings.NewReader(metrics), map[Webhook]bool{wanted: true})
	installtest.Must(t, err)
	installtest.Same(t, "the reading", Reading{Started: 1.7e9, Webhooks: map[Webhook]Counters{wanted: {
		Calls: 17, Answered: 12, Failed: map[string]float64{"calling_webhook_error, code 503": 5, passed: 8},
		Buckets: []Bucket{{0.005, 11}, {math.Inf(1), 22}},
	}}}, reading)
}

func TestReadOfTextThatIsNoMetrics(t *testing.T) {
	for name, test := range map[string]struct{ text, err string }{
		"no start of the process":  {"apiserver_up 1\n", "lack process_start_time_seconds"},
		"no value":                 {"process_start_time_seconds\n", "has no value"},
		"no value after labels":    {`apiserver_admission_webhook_request_total{name="v"}` + "\n", "has no value"},
		"no number":                {"process_start_time_seconds now\n", "invalid syntax"},
		"labels without an end":    {`apiserver_admission_webhook_request_total{name="v"` + "\n", "a label has no value"},
		"a label without quotes":   {`apiserver_admission_webhook_request_total{name=v} 1` + "\n", "invalid syntax"},
		"a bound that is no bound": {strings.Replace(metrics, `le="0.005"`, `le="low"`, 1), "invalid syntax"},
		"a line without an end":    {strings.Repeat("x", maxLine+1), "token too long"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(test.text), map[Webhook]bool{wanted: true}); err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("the error is %v, and should contain %q", err, test.err)
			}
		})
	}
}

// A server that never ends its answer does not occupy the manager.
func TestReadIsBounded(t *testing.T) {
	endless := readerFunc(func(p []byte) (int, error) { return copy(p, "a line\n"), nil })
	if _, err := Read(endless, nil); !errors.Is(err, errTooLarge) {
		t.Errorf("the error is %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Labels may be escaped.
func TestParseSample(t *testing.T) {
	name, labels, value, err := parseSample(`m{a="x\"y\\z\n",b="}, c=\"",} 1.5 1700000000`)
	installtest.Must(t, err)
	installtest.Same(t, "the sample", fmt.Sprint("m", map[string]string{"a": "x\"y\\z\n", "b": `}, c="`}, 1.5), fmt.Sprint(name, labels, value))
}

func TestPercentile99(t *testing.T) {
	for name, test := range map[string]struct {
		buckets []Bucket
		want    float64
	}{
		"no buckets":            {nil, 0},
		"no calls":              {[]Bucket{{1, 0}, {math.Inf(1), 0}}, 0},
		"all in the first":      {[]Bucket{{1, 100}, {2, 100}, {math.Inf(1), 100}}, 0.99},
		"in a later one":        {[]Bucket{{1, 98}, {2, 100}, {math.Inf(1), 100}}, 1.5},
		"longer than any bound": {[]Bucket{{1, 50}, {2, 60}, {math.Inf(1), 100}}, 2},
	} {
		installtest.Same(t, name, test.want, Counters{Buckets: test.buckets}.Percentile99())
	}
}

// Metrics of a large cluster: 20 MB, of which a hundred lines are about webhooks.
func BenchmarkRead(b *testing.B) {
	line := `apiserver_request_duration_seconds_bucket{component="apiserver",dry_run="",group="apps",resource="deployments",scope="namespace",subresource="",verb="LIST",version="v1",le="0.05"} 17` + "\n"
	text := strings.Repeat(line, 20<<20/len(line)) + strings.Repeat(metrics, 6)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(io.NopCloser(strings.NewReader(text)), map[Webhook]bool{wanted: true}); err != nil {
			b.Fatal(err)
		}
	}
}
