// Package records holds what this process has done and observed, and the cluster does not show.
package records

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Repairs records the last write to each object, and the number of repairs. After a restart, an object that
// admission changed costs one dry run, and a contested object three more repairs.
type Repairs struct {
	mutex   sync.Mutex
	records map[types.NamespacedName]objectRecords // by ClusterServiceVersion
}

// objectRecords holds the records of the objects of a ClusterServiceVersion, by their key.
type objectRecords struct {
	writes   map[string]drift.Write
	contests map[string]drift.Contest
}

// NameOf returns the name by which records of a ClusterServiceVersion are kept.
func NameOf(csv *operatorsv1alpha1.ClusterServiceVersion) types.NamespacedName {
	return types.NamespacedName{Namespace: csv.Namespace, Name: csv.Name}
}

func (c *Repairs) change(csv types.NamespacedName, f func(objectRecords)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	r, known := c.records[csv]
	if !known {
		r = objectRecords{map[string]drift.Write{}, map[string]drift.Contest{}}
		put(&c.records, csv, r)
	}
	f(r)
}

// Wrote records the latest write to an object.
func (c *Repairs) Wrote(csv types.NamespacedName, object string, write drift.Write) {
	c.change(csv, func(r objectRecords) { r.writes[object] = write })
}

// Deleted forgets the latest write to an object that the manager deleted itself, unless it did so because of that write.
func (c *Repairs) Deleted(csv types.NamespacedName, object string) {
	c.change(csv, func(r objectRecords) {
		if !r.writes[object].RefusesGrant() {
			delete(r.writes, object)
		}
	})
}

// Repaired counts one more repair of an object.
func (c *Repairs) Repaired(csv types.NamespacedName, object string, change drift.Drift, now time.Time) {
	c.change(csv, func(r objectRecords) {
		maps.DeleteFunc(r.contests, func(_ string, contest drift.Contest) bool { return contest.Over(now) })
		r.contests[object] = r.contests[object].Repaired(change, now)
	})
}

// Of returns the latest writes for a version and those it replaces, and the repairs that still count.
func (c *Repairs) Of(csv types.NamespacedName, replaced []*operatorsv1alpha1.ClusterServiceVersion, now time.Time) (map[string]drift.Write, map[string]drift.Contest) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	writes := map[string]drift.Write{}
	for _, older := range replaced {
		maps.Copy(writes, c.records[NameOf(older)].writes)
	}
	maps.Copy(writes, c.records[csv].writes)
	contests := map[string]drift.Contest{}
	for object, contest := range c.records[csv].contests {
		if !contest.Over(now) {
			contests[object] = contest
		}
	}
	return writes, contests
}

// Forget deletes the records of a ClusterServiceVersion that is deleted.
func (c *Repairs) Forget(csv types.NamespacedName) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.records, csv)
}
