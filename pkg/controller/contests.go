package controller

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// contests remembers what the manager wrote last to each object, and how often it repaired
// what others changed. A restart forgets it, at the price of one dry run for an object that
// admission changed, and of three more repairs of one that is contested.
type contests struct {
	mutex   sync.Mutex
	records map[types.NamespacedName]objectRecords // by ClusterServiceVersion
}

// objectRecords is what is remembered of the objects of a ClusterServiceVersion, by their key.
type objectRecords struct {
	writes   map[string]drift.Write
	contests map[string]drift.Contest
}

func nameOf(csv *operatorsv1alpha1.ClusterServiceVersion) types.NamespacedName {
	return types.NamespacedName{Namespace: csv.Namespace, Name: csv.Name}
}

// change calls f with the record of a ClusterServiceVersion.
func (c *contests) change(csv types.NamespacedName, f func(objectRecords)) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.records == nil {
		c.records = map[types.NamespacedName]objectRecords{}
	}
	r, known := c.records[csv]
	if !known {
		r = objectRecords{map[string]drift.Write{}, map[string]drift.Contest{}}
		c.records[csv] = r
	}
	f(r)
}

// wrote notes the latest write to an object.
func (c *contests) wrote(csv types.NamespacedName, object string, write drift.Write) {
	c.change(csv, func(r objectRecords) { r.writes[object] = write })
}

// deleted forgets the writes to an object that the manager deleted itself.
func (c *contests) deleted(csv types.NamespacedName, object string) {
	c.change(csv, func(r objectRecords) { delete(r.writes, object) })
}

// repaired counts one more repair of an object.
func (c *contests) repaired(csv types.NamespacedName, object string, change drift.Drift, now time.Time) {
	c.change(csv, func(r objectRecords) { r.contests[object] = r.contests[object].Repaired(change, now) })
}

// of are the latest writes for a ClusterServiceVersion, and before it for those that it
// replaces, and the records of repairs that are not over yet.
func (c *contests) of(csv types.NamespacedName, replaced []*operatorsv1alpha1.ClusterServiceVersion, now time.Time) (map[string]drift.Write, map[string]drift.Contest) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	writes := map[string]drift.Write{}
	for _, older := range replaced {
		maps.Copy(writes, c.records[nameOf(older)].writes)
	}
	r := c.records[csv]
	maps.Copy(writes, r.writes)
	maps.DeleteFunc(r.contests, func(_ string, contest drift.Contest) bool { return contest.Over(now) })
	contests := map[string]drift.Contest{}
	maps.Copy(contests, r.contests)
	return writes, contests
}

func (c *contests) forget(csv types.NamespacedName) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.records, csv)
}
