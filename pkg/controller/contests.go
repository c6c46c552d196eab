package controller

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// contests remembers how often the manager repaired what another client changed. A
// restart forgets it, at the price of three more repairs.
type contests struct {
	mutex   sync.Mutex
	records map[types.NamespacedName]map[string]rollout.Contest // by ClusterServiceVersion, by object
}

// repaired counts one more repair of an object.
func (c *contests) repaired(csv types.NamespacedName, step rollout.Step, now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.records == nil {
		c.records = map[types.NamespacedName]map[string]rollout.Contest{}
	}
	if c.records[csv] == nil {
		c.records[csv] = map[string]rollout.Contest{}
	}
	c.records[csv][step.Key()] = c.records[csv][step.Key()].Repaired(step.Drift, now)
}

// of are the records of a ClusterServiceVersion that are not over yet.
func (c *contests) of(csv types.NamespacedName, now time.Time) map[string]rollout.Contest {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	maps.DeleteFunc(c.records[csv], func(_ string, contest rollout.Contest) bool { return contest.Over(now) })
	return maps.Clone(c.records[csv])
}

func (c *contests) forget(csv types.NamespacedName) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.records, csv)
}
