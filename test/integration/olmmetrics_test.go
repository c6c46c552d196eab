package integration

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// csvSeries are the lines about the ClusterServiceVersions of the test's Namespace that a scrape returns, those of OLM's names,
// and a line if the count is not that of the cluster, which has those of earlier tests, too.
func csvSeries(e *env, url string) (lines []string) {
	e.Helper()
	for _, line := range scrape(e, url) {
		if count, ok := strings.CutPrefix(line, "csv_count "); ok {
			if exist := strconv.Itoa(originals(e)); count != exist {
				lines = append(lines, fmt.Sprintf("csv_count is %s, and %s exist", count, exist))
			}
		}
		if strings.HasPrefix(line, "csv_") && strings.Contains(line, `namespace="`+e.namespace+`"`) {
			lines = append(lines, line)
		}
	}
	return lines
}

// originals counts the ClusterServiceVersions in the cluster that are no copies.
func originals(e *env) (count int) {
	e.Helper()
	for _, c := range kube.List(e, e.olm.ClusterServiceVersions(""), metav1.ListOptions{}).Items {
		if !c.IsCopied() {
			count++
		}
	}
	return count
}

// upgrades is the counter of upgrades, which counts those of operators of earlier tests, too.
func upgrades(e *env, url string) (count int) {
	e.Helper()
	for _, line := range scrape(e, url) {
		if text, ok := strings.CutPrefix(line, "csv_upgrade_count "); ok {
			count = installtest.OrPanic(strconv.Atoi(text))
		}
	}
	return count
}

func scrape(e *env, url string) (lines []string) {
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
		lines = append(lines, text.Text())
	}
	return lines
}

// A scrape returns the series that alerts and dashboards for OLM use. No series is left of a previous phase. The names are
// those of no other test, whose versions the manager copies.
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
	scraped("a namespace without versions has no series")

	v1 := csv("measured.v1", "server")
	installtest.Must(t, v1.Spec.Version.UnmarshalJSON([]byte(`"1.2.3"`)))
	e.install(v1)
	scraped("the first version has succeeded",
		`csv_succeeded{name="measured.v1",namespace="NS",version="1.2.3"} 1`)

	before := upgrades(e, metrics)
	e.create(replacing("measured.v1", csv("measured.v2", "slow")))
	e.reaches("measured.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	scraped("the newer version is being installed",
		`csv_abnormal{name="measured.v1",namespace="NS",phase="Replacing",reason="BeingReplaced",version="1.2.3"} 1`,
		`csv_abnormal{name="measured.v2",namespace="NS",phase="Installing",reason="InstallWaiting",version="0.0.0"} 1`,
		`csv_succeeded{name="measured.v1",namespace="NS",version="1.2.3"} 0`, `csv_succeeded{name="measured.v2",namespace="NS",version="0.0.0"} 0`)

	if now := upgrades(e, metrics); now <= before {
		t.Errorf("csv_upgrade_count is %d after an upgrade, and was %d before it", now, before)
	}

	setAvailable(e, "slow", true)
	scraped("the newer version has replaced the first one",
		`csv_succeeded{name="measured.v2",namespace="NS",version="0.0.0"} 1`)
}
