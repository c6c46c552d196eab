package scale

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// BenchmarkRotations lets a manager that was down for long find two hundred certificates
// due for renewal at one moment. Every other server reloads; the rest have to be restarted.
func BenchmarkRotations(b *testing.B) {
	for b.Loop() {
		rotate(b, 200)
	}
}

func rotate(b *testing.B, size int) {
	const places = 10 // what --certificate-rotations is by default
	e := newEnv(b)
	csvs := e.csvs(size, 1)
	servers := e.playServers(csvs)
	m := e.startManager()
	e.each(csvs, e.createCSV)
	e.allSucceed(csvs)
	e.quiet(m)
	m.stop()
	for i, s := range servers {
		s.reloads = i%2 == 0
		e.must(s.age(80 * 24 * time.Hour))
		e.must(s.start())
	}
	underWay := e.watchRotations()
	m = e.startManager("--certificate-reload-grace=10s")
	took := e.timed(func() {
		e.eventually("all certificates are replaced", func() (bool, error) { return e.rotated() == size, nil })
	})
	m.stop()

	restarts, most := 0, servers[0].restarting.most()
	for _, s := range servers {
		restarts += s.restarts
		if want := map[bool]int{true: 0, false: 1}[s.reloads]; s.restarts != want {
			b.Errorf("%s (reloads: %t) was restarted %d times, want %d", s.name, s.reloads, s.restarts, want)
		}
	}
	for what, most := range map[string]int{"rotations": underWay.most(), "restarts": most} {
		if most < 1 || most > places { // none were observed, although there were some
			b.Errorf("%d %s at once, want at least 1 and at most %d", most, what, places)
		}
	}
	b.ReportMetric(took.Seconds(), "s")
	b.ReportMetric(float64(underWay.most()), "rotations-at-once")
	b.ReportMetric(float64(restarts), "restarts")
	b.ReportMetric(float64(most), "restarts-at-once")
	b.ReportMetric(0, "ns/op")
	e.clear()
}

// rotated is how many certificates have the second generation, and nothing else is trusted.
func (e *env) rotated() int {
	e.Helper()
	n := 0
	e.eachNamespace(func(namespace string) {
		for _, r := range kube.List(e, e.olm.WebhookRollouts(namespace), metav1.ListOptions{ResourceVersion: "0"}).Items {
			n += installtest.Count(r.Status.Deployments, func(d managerv1alpha1.DeploymentStatus) bool {
				c := d.Certificate
				return c != nil && c.Generation == 2 && c.Phase == managerv1alpha1.CertificateStable
			})
		}
	})
	return n
}
