package crdversions

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdversions/release"
)

// unready records since when the conversion webhooks of definitions are not ready. After a restart of the manager, the
// time starts again.
type unready struct {
	mutex sync.Mutex
	times map[string]map[types.UID]time.Time // by definition and ClusterServiceVersion
}

func (u *unready) since(crd string, csv types.UID, now time.Time) time.Time {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if at, known := u.times[crd][csv]; known {
		return at
	}
	if u.times == nil {
		u.times = map[string]map[types.UID]time.Time{}
	}
	if u.times[crd] == nil {
		u.times[crd] = map[types.UID]time.Time{}
	}
	u.times[crd][csv] = now
	return now
}

// keep forgets webhooks that are ready or do not exist any more.
func (u *unready) keep(crd string, operators []release.Operator) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	unready := map[types.UID]bool{}
	for _, o := range operators {
		unready[o.CSV.UID] = !o.UnreadySince.IsZero()
	}
	for csv := range u.times[crd] {
		if !unready[csv] {
			delete(u.times[crd], csv)
		}
	}
	if len(u.times[crd]) == 0 {
		delete(u.times, crd)
	}
}

func (u *unready) forget(crd string) { u.keep(crd, nil) }
