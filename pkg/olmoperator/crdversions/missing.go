package crdversions

import (
	"sync"
	"time"
)

// missing records since when a ClusterServiceVersion that brings a held change does not exist, by definition. After a
// restart of the manager, the time starts again.
type missing struct {
	mutex sync.Mutex
	times map[string]time.Time
}

// since returns the zero time if none is missing.
func (m *missing) since(crd string, is bool, now time.Time) time.Time {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	at, known := m.times[crd]
	switch {
	case !is:
		delete(m.times, crd)
		return time.Time{}
	case known:
		return at
	case m.times == nil:
		m.times = map[string]time.Time{}
	}
	m.times[crd] = now
	return now
}

func (m *missing) forget(crd string) { m.since(crd, false, time.Time{}) }
