package integration

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// runInPlaceOfOLM runs the program of the manager with --with-olm, and returns the URL of its
// metrics.
func runInPlaceOfOLM(e *env, flags ...string) (metrics string) {
	e.Helper()
	address := kube.Reserve(e, "127.0.0.1").String()
	cluster.RunManager(e, nil, append([]string{
		"--with-olm", "--registration-gate=available", "--health-bind-address=",
		"--metrics-secure=false", "--metrics-bind-address=" + address,
	}, flags...)...)
	return "http://" + address + "/metrics"
}

// csvSeries are the lines about ClusterServiceVersions that a scrape returns, those of OLM's names.
func csvSeries(e *env, url string) (lines []string) {
	e.Helper()
	request, err := http.NewRequestWithContext(e.ctx, http.MethodGet, url, nil)
	e.must(err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return []string{err.Error()} // the program starts
	}
	defer response.Body.Close()
	text := bufio.NewScanner(bytes.NewReader(installtest.OrPanic(io.ReadAll(response.Body))))
	for text.Scan() {
		if strings.HasPrefix(text.Text(), "csv_") {
			lines = append(lines, text.Text())
		}
	}
	return lines
}

// A scrape returns the series that alerts and dashboards for OLM use. No series is left of a previous phase.
func TestOLMMetrics(t *testing.T) {
	e := operating(newEnv(t), allNamespaces, "slow") // No other test runs at the same time: the manager is that of all namespaces.
	metrics := runInPlaceOfOLM(e)
	scraped := func(what string, want ...string) {
		t.Helper()
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "NS", e.namespace)
		}
		becomes(e, what, func() []string { return csvSeries(e, metrics) }, want)
	}
	scraped("an empty cluster has zeros", "csv_count 0", "csv_upgrade_count 0")

	v1 := csv("operator.v1", "server")
	installtest.Must(t, v1.Spec.Version.UnmarshalJSON([]byte(`"1.2.3"`)))
	e.install(v1)
	scraped("the first version has succeeded", "csv_count 1",
		`csv_succeeded{name="operator.v1",namespace="NS",version="1.2.3"} 1`, "csv_upgrade_count 0")

	e.create(replacing("operator.v1", csv("operator.v2", "slow")))
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	scraped("the newer version is being installed",
		`csv_abnormal{name="operator.v1",namespace="NS",phase="Replacing",reason="BeingReplaced",version="1.2.3"} 1`,
		`csv_abnormal{name="operator.v2",namespace="NS",phase="Installing",reason="InstallWaiting",version="0.0.0"} 1`,
		"csv_count 2",
		`csv_succeeded{name="operator.v1",namespace="NS",version="1.2.3"} 0`, `csv_succeeded{name="operator.v2",namespace="NS",version="0.0.0"} 0`,
		"csv_upgrade_count 1")

	setAvailable(e, "slow", true)
	scraped("the newer version has replaced the first one", "csv_count 1",
		`csv_succeeded{name="operator.v2",namespace="NS",version="0.0.0"} 1`, "csv_upgrade_count 1")
}
