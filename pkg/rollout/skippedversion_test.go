package rollout

import (
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

// statusWith returns a status with one more opening, which begins and ends some time after now.
func (c *cluster) statusWith(first managerv1alpha1.Opening, from, until time.Duration, by managerv1alpha1.ClosedBy) (managerv1alpha1.WebhookRolloutStatus, managerv1alpha1.Opening) {
	status, o := *c.Previous.DeepCopy(), *first.DeepCopy()
	o.From.Time, o.Until.Time, o.ClosedBy = c.now.Add(from).Truncate(time.Second), c.now.Add(until).Truncate(time.Second), by
	f := status.Deployments[0].Webhooks[0].FailOpen
	f.Openings, f.OpenSeconds = append(f.Openings, o), f.OpenSeconds+int64((until-from)/time.Second)
	return status, o
}

// openedOnce returns a cluster whose webhook was open, and is closed since its backend serves again.
func openedOnce(t *testing.T) (*cluster, managerv1alpha1.Opening) {
	t.Helper()
	c := opened(t, time.Minute)
	c.pass(10 * time.Minute)
	c.serve("manager", "10.0.0.1")
	c.reconcileOpenings()
	return c, c.failOpen().Openings[0]
}

// started returns another version that has started, with the statuses that are recorded. The first one is its own.
func (c *cluster) started(name string, after time.Duration, recorded ...managerv1alpha1.WebhookRolloutStatus) *cluster {
	next := c.upgradeTo(c.CSV.Spec.WebhookDefinitions[0])
	next.CSV.Name, next.now, next.Config = name, c.now.Add(after), c.Config
	next.FailOpen, next.Upgrade.Started = FailOpen{Recorded: recorded}, true
	return next
}

func (c *cluster) decidedRecord() *managerv1alpha1.FailOpen {
	return c.next().FailOpen[csvspec.IdentityOf(c.CSV.Spec.WebhookDefinitions[0])].Record
}

// shop.v1 was open. shop.v2 continues its record, is open for four hours, and fails. shop.v3 replaces shop.v1 and skips shop.v2, as
// authors write it. It continues the record of shop.v2, also if shop.v1 keeps an older one.
func TestSuccessorThatSkipsAVersion(t *testing.T) {
	c, first := openedOnce(t)
	v2, second := c.statusWith(first, time.Minute, 4*time.Hour+time.Minute, managerv1alpha1.ClosedTimeOver)
	v1 := Replaced(c.CSV, "shop.v2", c.Previous, c.now)
	recorded := []managerv1alpha1.WebhookRolloutStatus{{}}
	for _, older := range versionsBefore(c.CSV) {
		recorded = append(recorded, map[string]managerv1alpha1.WebhookRolloutStatus{"shop.v1": v1, "shop.v2": v2}[older])
	}
	installtest.Same(t, "the nearest version by the ClusterServiceVersion", v1, recorded[1])

	next := c.started("shop.v3", 5*time.Hour, recorded...)
	record := next.decidedRecord()
	installtest.Same(t, "the openings of shop.v3", []managerv1alpha1.Opening{first, second}, record.Openings)
	installtest.Same(t, "how long all lasted", c.failOpen().OpenSeconds+4*3600, record.OpenSeconds)
	of := c.CSV.Spec.WebhookDefinitions[0]
	recordedBy := func(openings ...managerv1alpha1.Opening) *managerv1alpha1.WebhookRollout {
		r := &managerv1alpha1.WebhookRollout{}
		r.Status.Deployments = []managerv1alpha1.DeploymentStatus{{Webhooks: []managerv1alpha1.WebhookStatus{
			{Type: of.Type, GenerateName: of.GenerateName, FailOpen: &managerv1alpha1.FailOpen{Openings: openings}},
		}}}
		return r
	}
	installtest.Same(t, "shop.v2 is removed before shop.v3 has its openings", true, AwaitsOpenings(v2, next.CSV, recordedBy(first), next.now))
	installtest.Same(t, "shop.v2 waits afterwards", false, AwaitsOpenings(v2, next.CSV, recordedBy(first, second), next.now))
}

// versionsBefore returns the versions that shop.v3 replaces, in the order of the lineage.
func versionsBefore(v1 *operatorsv1alpha1.ClusterServiceVersion) (names []string) {
	version := func(name string, skips ...string) *operatorsv1alpha1.ClusterServiceVersion {
		csv := v1.DeepCopy()
		csv.Name, csv.Spec.Replaces, csv.Spec.Skips = name, "shop.v1", skips
		return csv
	}
	all := map[string]*operatorsv1alpha1.ClusterServiceVersion{"shop.v1": v1, "shop.v2": version("shop.v2")}
	none := func(*operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion { return nil }
	for _, csv := range lineage.Of(version("shop.v3", "shop.v2"), lineage.Namespace{
		Named:     func(name string) *operatorsv1alpha1.ClusterServiceVersion { return all[name] },
		Replacing: func(string) []*operatorsv1alpha1.ClusterServiceVersion { return nil }, TookFrom: none, TakenBy: none,
	}).Older {
		names = append(names, csv.Name)
	}
	return names
}

// shop.v2 is deleted, and shop.v3, which replaces shop.v1, has started before the openings of shop.v2 are returned. They are in a status
// of a version that shop.v3 has replaced already, or still in that of shop.v2, and get into the record of shop.v3.
func TestRecordReturnedToAReplacedVersion(t *testing.T) {
	c, first := openedOnce(t)
	v2, second := c.statusWith(first, time.Minute, 31*time.Minute, managerv1alpha1.ClosedServed)
	v3, third := c.statusWith(first, 40*time.Minute, 50*time.Minute, managerv1alpha1.ClosedServed)
	v1 := Replaced(c.CSV, "shop.v3", c.Previous, c.now)
	returned := failopen.WithOpeningsOf(v2, v1)
	for name, others := range map[string][]managerv1alpha1.WebhookRolloutStatus{
		"not returned yet": {v1, v2}, "while it is returned": {returned, v2}, "it is returned": {returned}, "shop.v1 does not exist": {v2},
	} {
		t.Run(name, func(t *testing.T) {
			next := c.started("shop.v3", time.Hour, append([]managerv1alpha1.WebhookRolloutStatus{v3}, others...)...)
			next.Previous = v3
			record := next.decidedRecord()
			installtest.Same(t, "the openings of shop.v3", []managerv1alpha1.Opening{first, second, third}, record.Openings)
			installtest.Same(t, "how long all lasted", c.failOpen().OpenSeconds+40*60, record.OpenSeconds)
			installtest.Same(t, "shop.v1 is removed before shop.v3 has them", true, AwaitsOpenings(returned, next.CSV, &managerv1alpha1.WebhookRollout{Status: v3}, next.now))
			v3 := *v3.DeepCopy()
			v3.Deployments[0].Webhooks[0].FailOpen = record
			installtest.Same(t, "shop.v1 waits afterwards", false, AwaitsOpenings(returned, next.CSV, &managerv1alpha1.WebhookRollout{Status: v3}, next.now))
			again := c.started("shop.v3", time.Hour, append([]managerv1alpha1.WebhookRolloutStatus{v3}, others...)...)
			again.Previous = v3
			installtest.Same(t, "the record after another decision", record, again.decidedRecord())
		})
	}
}
