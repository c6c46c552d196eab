package scale

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

var earlierManager = flag.String("earlier-manager", "", "program of an earlier manager, whose rotations are measured, too")

// BenchmarkOrderedRotation rotates the certificate of a server that reloads, from the order until the phase is Stable.
func BenchmarkOrderedRotation(b *testing.B) {
	managers := map[string]string{"": installtest.OrPanic(programs.Path(programs.Manager))}
	if *earlierManager != "" {
		managers["earlier-"] = *earlierManager
	}
	for b.Loop() {
		for name, program := range managers {
			shortest, longest := orderRotations(b, program, 10)
			b.ReportMetric(shortest.Seconds(), name+"shortest-s")
			b.ReportMetric(longest.Seconds(), name+"longest-s")
		}
	}
	b.ReportMetric(0, "ns/op")
}

func orderRotations(b *testing.B, program string, times int64) (shortest, longest time.Duration) {
	e := newEnv(b)
	csvs := e.csvs(1, 1)
	server := e.playServers(csvs)[0]
	server.reloads = true
	m := e.startProgram(program)
	e.each(csvs, e.createCSV)
	e.allSucceed(csvs)
	e.must(server.start())
	e.quiet(m)
	shortest = time.Hour
	for i := range times {
		took := e.timed(func() { e.rotateOnce(csvs[0], i+2) })
		shortest, longest = min(shortest, took), max(longest, took)
	}
	m.stop()
	e.clear()
	return shortest, longest
}

// rotateOnce orders a rotation, and waits until the certificate of the new generation is Stable.
func (e *env) rotateOnce(csv *operatorsv1alpha1.ClusterServiceVersion, generation int64) {
	e.Helper()
	order := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, wellknown.AnnotationRotate, generation)
	kube.Patch(e, e.olm.ClusterServiceVersions(csv.Namespace), csv.Name, types.MergePatchType, order)
	e.eventually("the rotation has ended", func() (bool, error) {
		status := kube.Get(e, e.olm.WebhookRollouts(csv.Namespace), csv.Name).Status
		c := status.Deployments[0].Certificate
		return c.Generation == generation && c.Phase == managerv1alpha1.CertificateStable, nil
	})
}
