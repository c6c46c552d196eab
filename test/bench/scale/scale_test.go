package scale

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { kube.Main(m, &cluster) }

const writers = 10

// BenchmarkInstall installs many ClusterServiceVersions at once. The floor is the same final objects, written by plain
// clients in the same run.
func BenchmarkInstall(b *testing.B) {
	if !cluster.Audit.Available() {
		b.Skip("a whole cluster has controllers of its own for what this plays: unset KUBECONFIG")
	}
	processor := map[int]float64{} // for each, where so many are installed without replicas
	for _, test := range []struct {
		size     int
		replicas int32
		delay    time.Duration
		times    int
	}{{100, 0, 0, 3}, {100, 1, time.Second, 3}, {1000, 0, 0, 1}} {
		b.Run(fmt.Sprintf("csvs=%d,replicas=%d", test.size, test.replicas), func(b *testing.B) {
			for b.Loop() {
				var floors []float64
				for range test.times {
					c := measure(b, test.size, test.replicas, test.delay)
					floors = append(floors, c.floors)
					if test.replicas == 0 {
						processor[test.size] = c.processor
					}
				}
				installedWithin(b, floors)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	if few, many := processor[100], processor[1000]; few > 0 && many > 0 {
		staysBelow(b, mostTenth, many/few, "with ten times as many, each takes of the processor", "times as much")
	}
}

func measure(b *testing.B, size int, replicas int32, delay time.Duration) cost {
	e := newEnv(b)
	e.playDeployments(delay)
	m := e.startManager()
	csvs := e.csvs(size, replicas)

	since := e.auditEnd()
	installing := e.timed(func() {
		e.each(csvs, e.createCSV)
		e.allSucceed(csvs)
	})
	processor := m.reportUse(size)
	e.quiet(m)
	b.ReportMetric(float64(m.requestsSince(since))/float64(size), "requests/CSV")

	e.idles(m, size)
	e.repairs(m, csvs)
	m.reportMemory()
	m.stop()

	floor := e.floor(csvs)
	b.ReportMetric(installing.Seconds(), "s")
	b.ReportMetric(floor.Seconds(), "floor-s")
	e.clear()
	return cost{processor, installing.Seconds() / floor.Seconds()}
}

// idles counts what the manager writes when it reconciles everything again and nothing has changed.
func (e *env) idles(m *manager, size int) {
	e.quiet(m)
	since := e.auditEnd()
	e.eachNamespace(e.touchGroup)
	e.eventually("every ClusterServiceVersion was reconciled again", func() (bool, error) {
		return m.passes() >= m.passesBefore+size, nil
	})
	e.quiet(m)
	writes := len(kube.Writes(e.audited(since), managerAgent))
	e.ReportMetric(float64(writes), "idle-writes")
	if writes > 0 {
		e.Errorf("%d writes where nothing has changed", writes)
	}
}

func (e *env) quiet(m *manager) {
	last, at := -1, time.Now()
	e.eventually("the manager is idle", func() (bool, error) {
		if n := m.passes(); n != last {
			last, at = n, time.Now()
		}
		return time.Since(at) > time.Second, nil
	})
	m.passesBefore = last
}

func (e *env) eventually(what string, condition func() (bool, error)) {
	e.Helper()
	err := wait.PollUntilContextTimeout(e.ctx, 20*time.Millisecond, 10*time.Minute, true, conditionOf(condition))
	if err != nil {
		e.Fatalf("%s: %v", what, err)
	}
}

func (e *env) timed(work func()) time.Duration {
	started := time.Now()
	work()
	return time.Since(started)
}

func manifests(pattern string) []string {
	files, err := filepath.Glob("../../../manifests/crds/" + pattern)
	if err != nil || len(files) == 0 {
		panic(fmt.Sprintf("no CustomResourceDefinitions: %v", err))
	}
	return files
}
