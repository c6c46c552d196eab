package scale

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

const managerAgent = "olm-webhook-manager/"

type manager struct {
	*env
	process      *os.Process
	health       string // address of /readyz
	metricsAt    string // address of /metrics
	passesBefore int
	stop         func()
}

// startManager runs the manager as it is shipped, with its defaults, except for
// the gate, since there is no kube-proxy here, and the flags that are given.
func (e *env) startManager(flags ...string) *manager {
	e.Helper()
	return e.startProgram(installtest.OrPanic(programs.Path(programs.Manager)), flags...)
}

func (e *env) startProgram(program string, flags ...string) *manager {
	e.Helper()
	m := &manager{env: e, health: freeAddress(), metricsAt: freeAddress()}
	log := installtest.OrPanic(os.Create(filepath.Join(e.TempDir(), "log")))
	flags = append([]string{"run", "--kubeconfig=" + cluster.Kubeconfig, "--registration-gate=available", "--log-level=warning",
		"--health-bind-address=" + m.health, "--metrics-bind-address=" + m.metricsAt, "--metrics-secure=false"}, flags...)
	command := exec.CommandContext(e.ctx, program, flags...)
	command.Env = append(os.Environ(), e.shippedEnvironment()...)
	command.Stdout, command.Stderr = log, log
	e.must(command.Start())
	m.process = command.Process
	m.stop = sync.OnceFunc(func() {
		e.must(m.process.Signal(syscall.SIGTERM))
		if err := command.Wait(); err != nil {
			text, _ := os.ReadFile(log.Name())
			e.Errorf("%v: %s", err, text)
		}
	})
	e.Cleanup(m.stop)
	e.eventually("the manager is ready", func() (bool, error) { return isReady(m.health), nil })
	return m
}

func (e *env) shippedEnvironment() []string {
	text := installtest.OrPanic(os.ReadFile("../../../manifests/manager/deployment.yaml"))
	var d appsv1.Deployment
	e.must(yaml.UnmarshalStrict(text, &d))
	var environment []string
	for _, variable := range d.Spec.Template.Spec.Containers[0].Env {
		if variable.ValueFrom == nil {
			environment = append(environment, variable.Name+"="+variable.Value)
		}
	}
	return environment
}

// isReady is false, too, while no server listens yet.
func isReady(address string) bool {
	response, err := http.Get("http://" + address + "/readyz")
	return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
}

func freeAddress() string {
	l := installtest.OrPanic(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().String()
}

func (m *manager) passes() int {
	m.Helper()
	n := 0
	for _, metric := range m.metrics()["olm_webhook_manager_reconcile_duration_seconds"].GetMetric() {
		for _, label := range metric.GetLabel() {
			if label.GetName() == "kind" && label.GetValue() == "ClusterServiceVersion" {
				n += int(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return n
}

func (m *manager) metrics() map[string]*dto.MetricFamily {
	m.Helper()
	response, err := http.Get("http://" + m.metricsAt + "/metrics")
	m.must(err)
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	m.must(err)
	return families
}

func (m *manager) value(name string) float64 {
	m.Helper()
	metric := m.metrics()[name].GetMetric()
	if len(metric) != 1 {
		m.Fatalf("the manager reports %s %d times", name, len(metric))
	}
	return metric[0].GetGauge().GetValue() + metric[0].GetCounter().GetValue()
}

// reportUse reports what the installation took of the processor, in milliseconds for each, and in
// how many reconciliations.
func (m *manager) reportUse(size int) (processor float64) {
	m.Helper()
	processor = 1000 * m.value("process_cpu_seconds_total") / float64(size)
	m.ReportMetric(processor, "cpu-ms/CSV")
	m.ReportMetric(float64(m.passes())/float64(size), "passes/CSV")
	return processor
}

// reportMemory reports what the process has held at most, what it holds, what of that is the
// program itself, and what is objects in use.
func (m *manager) reportMemory() {
	m.Helper()
	peak := m.status("VmHWM")
	staysBelow(m.B, mostMemory>>20, peak/(1<<20), "the manager held at most", "MB")
	m.ReportMetric(peak/(1<<20), "MB-peak")
	m.ReportMetric(m.status("RssFile")/(1<<20), "MB-program")
	m.ReportMetric(m.status("VmRSS")/(1<<20), "MB")
	m.ReportMetric(m.value("go_memstats_heap_inuse_bytes")/(1<<20), "MB-heap")
}

// requestsSince are all that the manager sent, reads and events included. How they are made up is written to the log.
func (m *manager) requestsSince(place int64) int {
	m.Helper()
	n, kinds := 0, map[string]int{}
	for _, event := range m.audited(place) {
		if strings.Contains(event.UserAgent, managerAgent) && event.ObjectRef != nil && event.Verb != "watch" {
			n++
			kinds[strings.TrimSuffix(event.Verb+" "+event.ObjectRef.Resource+"/"+event.ObjectRef.Subresource, "/")]++
		}
	}
	m.Logf("requests: %v", kinds)
	return n
}

func (m *manager) status(field string) float64 {
	m.Helper()
	text := installtest.OrPanic(os.ReadFile(fmt.Sprintf("/proc/%d/status", m.process.Pid)))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			kb := installtest.OrPanic(strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB")))
			return float64(kb << 10)
		}
	}
	m.Fatalf("no %s in %s", field, text)
	return 0
}
