package cluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A refusal by a webhook is no failed call. A request that passes although its webhook did not answer is one.
func TestParseCalls(t *testing.T) {
	got, err := parseCalls([]byte(`# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.78e+09
# TYPE apiserver_admission_webhook_rejection_count counter
apiserver_admission_webhook_rejection_count{error_type="calling_webhook_error",name="v.example.com",operation="CREATE",rejection_code="0",type="validating"} 2
apiserver_admission_webhook_rejection_count{error_type="no_error",name="v.example.com",operation="CREATE",rejection_code="403",type="validating"} 5
# TYPE apiserver_admission_webhook_fail_open_count counter
apiserver_admission_webhook_fail_open_count{name="m.example.com",type="admit"} 3
# TYPE apiserver_conversion_webhook_request_total counter
apiserver_conversion_webhook_request_total{failure_type="",result="success"} 7
apiserver_conversion_webhook_request_total{failure_type="conversion_webhook_call_failure",result="failure"} 1
# TYPE apiserver_admission_webhook_admission_duration_seconds histogram
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v.example.com",operation="CREATE",rejected="false",type="validating",le="0.5"} 3
apiserver_admission_webhook_admission_duration_seconds_bucket{name="v.example.com",operation="CREATE",rejected="false",type="validating",le="+Inf"} 4
apiserver_admission_webhook_admission_duration_seconds_sum{name="v.example.com",operation="CREATE",rejected="false",type="validating"} 0.5
apiserver_admission_webhook_admission_duration_seconds_count{name="v.example.com",operation="CREATE",rejected="false",type="validating"} 4
# TYPE apiserver_crd_conversion_webhook_duration_seconds histogram
apiserver_crd_conversion_webhook_duration_seconds_bucket{crd_name="a.example.com",from_version="v1",succeeded="true",to_version="v2",le="8.192"} 5
apiserver_crd_conversion_webhook_duration_seconds_bucket{crd_name="a.example.com",from_version="v1",succeeded="true",to_version="v2",le="+Inf"} 6
apiserver_crd_conversion_webhook_duration_seconds_sum{crd_name="a.example.com",from_version="v1",succeeded="true",to_version="v2"} 1
apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="a.example.com",from_version="v1",succeeded="true",to_version="v2"} 6
apiserver_crd_conversion_webhook_duration_seconds_bucket{crd_name="a.example.com",from_version="v1",succeeded="false",to_version="v2",le="8.192"} 1
apiserver_crd_conversion_webhook_duration_seconds_bucket{crd_name="a.example.com",from_version="v1",succeeded="false",to_version="v2",le="+Inf"} 1
apiserver_crd_conversion_webhook_duration_seconds_sum{crd_name="a.example.com",from_version="v1",succeeded="false",to_version="v2"} 1
apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="a.example.com",from_version="v1",succeeded="false",to_version="v2"} 1
`))
	installtest.Must(t, err)
	installtest.Same(t, "calls", takeover.Calls{
		Started: time.Unix(1780000000, 0),
		Failed:  map[string]float64{"v.example.com": 2, "m.example.com": 3, "conversion of a.example.com": 1},
		Count:   map[string]float64{"v.example.com": 4, "conversion of a.example.com": 7}, Seconds: map[string]float64{"v.example.com": 0.5, "conversion of a.example.com": 2},
		Within: map[string]map[float64]float64{"v.example.com": {0.5: 3}, "conversion of a.example.com": {8.192: 6}},
	}, got)
}

// An API server without the histogram of conversions counts only the total.
func TestParseCallsWithoutHistogram(t *testing.T) {
	got, err := parseCalls([]byte(`# TYPE apiserver_conversion_webhook_request_total counter
apiserver_conversion_webhook_request_total{failure_type="",result="success"} 7
apiserver_conversion_webhook_request_total{failure_type="conversion_webhook_call_failure",result="failure"} 1
`))
	installtest.Must(t, err)
	installtest.Same(t, "failed calls", map[string]float64{"conversion": 1}, got.Failed)
}

// Calls of the conversion of one operator fail before the first change. Those of another operator stop the command.
func TestFailedConversionOfAnotherOperator(t *testing.T) {
	reading := func(tenants, shops int) takeover.Reading {
		calls, err := parseCalls(fmt.Appendf(nil, `# TYPE apiserver_conversion_webhook_request_total counter
apiserver_conversion_webhook_request_total{failure_type="conversion_webhook_call_failure",result="failure"} %d
# TYPE apiserver_crd_conversion_webhook_duration_seconds histogram
apiserver_crd_conversion_webhook_duration_seconds_bucket{crd_name="tenants.example.com",from_version="v1",succeeded="false",to_version="v2",le="+Inf"} %d
apiserver_crd_conversion_webhook_duration_seconds_sum{crd_name="tenants.example.com",from_version="v1",succeeded="false",to_version="v2"} 1
apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="tenants.example.com",from_version="v1",succeeded="false",to_version="v2"} %d
apiserver_crd_conversion_webhook_duration_seconds_bucket{crd_name="shops.example.com",from_version="v1",succeeded="false",to_version="v2",le="+Inf"} %d
apiserver_crd_conversion_webhook_duration_seconds_sum{crd_name="shops.example.com",from_version="v1",succeeded="false",to_version="v2"} 1
apiserver_crd_conversion_webhook_duration_seconds_count{crd_name="shops.example.com",from_version="v1",succeeded="false",to_version="v2"} %d
`, tenants+shops, tenants, tenants, shops, shops))
		installtest.Must(t, err)
		return takeover.Reading{Servers: map[string]takeover.Calls{"a": calls}}
	}
	w := takeover.NewWatcher(reading(1, 0), reading(2, 0), nil)
	installtest.Same(t, "failures", []string{"7 calls of webhook conversion of shops.example.com failed"}, w.Failures(reading(3, 7)))
}
