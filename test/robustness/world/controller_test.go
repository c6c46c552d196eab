package world

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// root is the root of the repository.
const root = "../../.."

func TestMain(m *testing.M) {
	if os.Getenv("KLOG") == "" {
		klog.LogToStderr(false)
		klog.SetOutput(io.Discard)
	}
	os.Exit(m.Run())
}

var usual = Delays{Start: 2 * time.Second, Kubelet: time.Minute, Reload: time.Second, Controllers: 100 * time.Millisecond}

// The manager installs an operator with a webhook in virtual time, rotates its certificate once, and then writes nothing.
// synctest reports goroutines that are left.
func TestInstallAndRotate(t *testing.T) {
	start := Defined(t, root)
	for name, test := range map[string]struct {
		servers  int
		lag      time.Duration // of the manager's API server
		other    time.Duration // of another API server, once the webhook is registered
		violates []string
	}{
		"one API server":        {servers: 1},
		"a late API server":     {servers: 2, lag: 2 * time.Second},
		"three API servers":     {servers: 3},
		"the manager's is late": {servers: 1, lag: 500 * time.Millisecond},
		// Here the manager cannot ask API servers, because no EndpointSlice lists them: it waits for the settle time.
		"an API server that is later than the settle time": {servers: 3, other: 5 * time.Minute, violates: []string{"I2"}},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			synctest.Test(t, func(t *testing.T) {
				m := run(t, start, test.servers)
				m.violates = test.violates
				m.Last().View().SetLag(test.lag)
				m.install()
				if test.other > 0 {
					m.Server(1).View().SetLag(test.other)
				}
				m.rotate()
				m.isIdle(20 * time.Minute)
			})
			t.Log("wall time:", time.Since(began).Round(time.Millisecond))
		})
	}
}

// install creates a ClusterServiceVersion and waits until it succeeds.
func (m *managed) install() {
	m.Helper()
	createOperator(m)
	m.waitFor("the ClusterServiceVersion succeeds", 5*time.Minute, func() bool {
		csv, err := m.olm.ClusterServiceVersions("shop").Get(m.ctx, "shop.v1", metav1.GetOptions{})
		return err == nil && csv.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded
	})
	if bundle := m.bundle(); strings.Count(bundle, "BEGIN CERTIFICATE") != 1 {
		m.Errorf("registered with another bundle than one CA: %s", bundle)
	}
}

// rotate orders a rotation and waits until the webhook is registered with another CA alone.
func (m *managed) rotate() {
	m.Helper()
	before := m.bundle()
	order := []byte(`{"metadata":{"annotations":{"` + wellknown.AnnotationRotate + `":"now"}}}`)
	installtest.OrPanic(m.olm.ClusterServiceVersions("shop").Patch(m.ctx, "shop.v1", types.MergePatchType, order, metav1.PatchOptions{}))
	m.waitFor("the certificate is replaced", 10*time.Minute, func() bool {
		after := m.bundle()
		return after != before && strings.Count(after, "BEGIN CERTIFICATE") == 1
	})
}

// isIdle reports an error if the manager writes anything in some virtual time, after it has completed what it does.
func (m *managed) isIdle(duration time.Duration) {
	m.Helper()
	time.Sleep(time.Minute)
	before := m.written.copy()
	time.Sleep(duration)
	after := m.written.copy()
	maps.DeleteFunc(after, func(what string, n int) bool { return before[what] == n })
	if len(after) > 0 {
		m.Errorf("writes without a change: %v", after)
	}
	m.Logf("%d reads, %d writes", m.written.reads, sum(before))
}

func sum(counts map[string]int) (n int) {
	for _, one := range slices.Collect(maps.Values(counts)) {
		n += one
	}
	return n
}

func (m *managed) bundle() string {
	m.Helper()
	all := installtest.OrPanic(m.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(m.ctx, metav1.ListOptions{}))
	if len(all.Items) != 1 {
		m.Fatalf("%d configurations, not 1", len(all.Items))
	}
	return string(all.Items[0].Webhooks[0].ClientConfig.CABundle)
}

func (m *managed) waitFor(what string, limit time.Duration, done func() bool) {
	m.Helper()
	start := time.Now()
	for ; !done(); time.Sleep(time.Second) {
		if time.Since(start) > limit {
			m.Fatalf("not within %v: %s", limit, what)
		}
	}
	m.Logf("%s after %v", what, time.Since(start))
}
