package scale

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies/plan"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// BenchmarkCopies measures the copies of operators of all namespaces, in many namespaces: until they exist, after a restart
// of the manager, after an edit of an original, in a new namespace, and until OLMConfig has them deleted. The floor is the
// same copies, written by plain clients in the same run.
func BenchmarkCopies(b *testing.B) {
	if !cluster.Audit.Available() {
		b.Skip("a whole cluster has controllers of its own for what this plays: unset KUBECONFIG")
	}
	const operators, namespaces = 5, 1000
	b.Run(fmt.Sprintf("csvs=%d,namespaces=%d", operators, namespaces), func(b *testing.B) {
		for b.Loop() {
			measureCopies(b, operators, namespaces)
		}
		b.ReportMetric(0, "ns/op")
	})
}

func measureCopies(b *testing.B, operators, namespaces int) {
	c := newCopying(b, operators, namespaces)
	c.start()
	c.each(c.originals, c.createCSV)
	c.allSucceed(c.originals)
	c.quiet(c.m)
	c.m.stop()
	c.refresh()

	before := c.copiesFloor()
	c.start()
	without := c.memory()
	writing := c.created()
	with := c.memory()
	c.m.reportMemory()
	c.m.stop()
	between := c.copiesFloor()
	c.restarted()
	editing := c.edited()
	c.inNewNamespace()
	deleting := c.deleted()
	after := c.memory()
	c.m.stop()
	last := c.copiesFloor()

	b.Logf("floor of a write: %s, %s and %s", before, between, last)
	b.ReportMetric(milliseconds(before+between+last)/3, "floor-ms/write")
	c.reportTime("", writing, 2*operators*namespaces, before, between, mostFloors)
	c.reportTime("-edit", editing, namespaces, between, last, mostFloorsOfEdit)
	c.reportTime("-delete", deleting, c.copies(), between, last, mostFloors)
	c.reportHeld("B/copy", without, with, mostOfCopy)
	c.reportHeld("B/deleted-copy", without, after, mostOfDeletedCopy)
	b.ReportMetric(without/(1<<20), "MB-live-without")
	b.ReportMetric(with/(1<<20), "MB-live")
	b.ReportMetric(after/(1<<20), "MB-live-after")
	c.clear()
	c.removeNamespaces(c.others)
	c.must(c.olm.OLMConfigs().Delete(c.ctx, "cluster", metav1.DeleteOptions{}))
}

// reportTime compares the time of some writes with the floors before and after them, since other programs use the machine.
func (c *copying) reportTime(what string, took time.Duration, writes int, before, after time.Duration, limit float64) {
	c.Helper()
	floor := float64(writes) * (before + after).Seconds() / 2
	c.ReportMetric(took.Seconds(), "s"+what)
	c.ReportMetric(took.Seconds()/floor, "x-floor"+what)
	staysBelow(c.B, limit, took.Seconds()/floor, fmt.Sprintf("%d writes of copies take", writes), "floors")
}

func (c *copying) reportHeld(unit string, without, with, limit float64) {
	c.Helper()
	each := (with - without) / float64(c.copies())
	c.ReportMetric(each, unit)
	staysBelow(c.B, limit, each, "the manager holds", unit)
}

// memory returns the bytes of objects in use, when nothing is reconciled.
func (c *copying) memory() float64 {
	c.Helper()
	c.quiet(c.m)
	const collections = "go_gc_cycles_total_gc_cycles_total"
	before := c.m.value(collections)
	c.eventually("garbage is collected", func() (bool, error) { return c.m.value(collections) >= before+2, nil })
	return c.m.value("go_gc_heap_live_bytes")
}

// created returns how long it takes to write all copies.
func (c *copying) created() time.Duration {
	c.Helper()
	since := c.auditEnd()
	before := c.m.value("process_cpu_seconds_total")
	took := c.timed(func() {
		c.disable(false)
		c.eventually("all copies exist", c.complete(c.originals...))
	})
	c.ReportMetric(1000*(c.m.value("process_cpu_seconds_total")-before)/float64(c.copies()), "cpu-ms/copy")
	c.reported(false)
	each := float64(c.m.requestsSince(since)) / float64(c.copies())
	c.ReportMetric(each, "requests/copy")
	staysBelow(c.B, mostRequestsOfCopy, each, "a copy costs", "requests")
	for _, original := range c.originals {
		c.sameAs(original, c.existing[0])
		c.sameAs(original, c.existing[c.targets()-1])
	}
	return took
}

// sameAs compares the content of a copy, of which the watch shows metadata only.
func (c *copying) sameAs(original *operatorsv1alpha1.ClusterServiceVersion, namespace string) {
	c.Helper()
	found := kube.Get(c, c.olm.ClusterServiceVersions(namespace), original.Name)
	installtest.Same(c, "spec of the copy in "+namespace, original.Spec, found.Spec)
	installtest.Same(c, "status of the copy in "+namespace, plan.Status(original), found.Status)
}

// restarted starts a manager when the copies exist. Its peak includes that it reads the metadata of all of them.
func (c *copying) restarted() {
	c.Helper()
	since := c.auditEnd()
	c.start()
	live, peak := c.memory(), c.m.status("VmHWM")
	writes := len(c.managerWrites(since))
	c.ReportMetric(float64(writes), "restart-writes")
	if writes > 0 {
		c.Errorf("%d writes after a restart", writes)
	}
	c.ReportMetric(live/(1<<20), "MB-live-restarted")
	c.ReportMetric(peak/(1<<20), "MB-peak-restarted")
	staysBelow(c.B, mostMemory>>20, peak/(1<<20), "the manager that starts with copies held at most", "MB")
}

// edited changes the spec of an original, and returns how long it takes to copy that. All other originals get an
// annotation that copies do not have: their copies are compared before, because one worker compares the originals in the
// order of their changes, and none is written.
func (c *copying) edited() time.Duration {
	c.Helper()
	since := c.auditEnd()
	edited := c.originals[len(c.originals)-1]
	for _, csv := range c.originals[:len(c.originals)-1] {
		kube.Patch(c, c.olm.ClusterServiceVersions(csv.Namespace), csv.Name, types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"{}"}}}`, corev1.LastAppliedConfigAnnotation))
	}
	took := c.timed(func() {
		edited = kube.Patch(c, c.olm.ClusterServiceVersions(edited.Namespace), edited.Name, types.MergePatchType, []byte(`{"spec":{"description":"Another text."}}`))
		c.eventually("all copies have the edit", c.complete(edited))
	})
	c.quiet(c.m)
	c.refresh()
	c.eventually("all copies are current", c.complete(c.originals...))
	c.sameAs(c.originals[len(c.originals)-1], c.existing[0])

	idle, writes := 0, 0
	for _, event := range c.managerWrites(since) {
		if o := event.ObjectRef; o.Name == edited.Name {
			writes++
		} else {
			idle++
			c.Errorf("a write where nothing has changed: %s %s %s/%s", event.Verb, o.Resource, o.Namespace, o.Name)
		}
	}
	c.ReportMetric(float64(idle), "idle-writes")
	each := float64(writes) / float64(c.targets())
	c.ReportMetric(each, "writes/edit/copy")
	staysBelow(c.B, mostWritesOfEdit, each, "an edit costs, for each copy,", "writes")
	return took
}

func (c *copying) managerWrites(since int64) []auditv1.Event {
	return kube.Writes(c.audited(since), managerAgent)
}

// inNewNamespace measures the copies in one more Namespace.
func (c *copying) inNewNamespace() {
	c.Helper()
	since := c.auditEnd()
	took := c.timed(func() {
		added := c.newTargets(1)
		c.others, c.existing = append(c.others, added...), append(c.existing, added...)
		c.eventually("the new Namespace has its copies", func() (bool, error) {
			for _, original := range c.originals {
				if c.seen.current(original, added[0]) == 0 {
					return false, nil
				}
			}
			return true, nil
		})
	})
	c.quiet(c.m)
	writes := len(c.managerWrites(since))
	c.ReportMetric(float64(writes), "writes/namespace")
	c.ReportMetric(milliseconds(took), "ms/namespace")
	if want := 2 * len(c.originals); writes != want {
		c.Errorf("%d writes for a new Namespace, want %d", writes, want)
	}
	staysBelow(c.B, milliseconds(mostForNamespace), milliseconds(took), "a new Namespace has its copies within", "ms")
}

// deleted returns how long it takes to delete all copies.
func (c *copying) deleted() time.Duration {
	c.Helper()
	took := c.timed(func() {
		c.disable(true)
		c.eventually("no copy exists", func() (bool, error) { return len(c.seen.ListKeys()) == 0, nil })
	})
	c.reported(true)
	return took
}
