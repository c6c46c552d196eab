package records

import (
	"sync"
	"time"
)

// Markers records the names of the markers of this process. Caches show a marker while API servers are asked, and for a moment after
// its removal: meanwhile, a reconciliation must not remove it.
type Markers struct {
	mutex sync.Mutex
	ends  map[string]time.Time // zero while API servers are asked
}

// markerKept is how long caches may show a marker that is removed.
const markerKept = time.Minute

// Add records markers that are about to be created.
func (m *Markers) Add(names []string, now time.Time) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for name, end := range m.ends {
		if !end.IsZero() && now.Sub(end) > markerKept {
			delete(m.ends, name)
		}
	}
	for _, name := range names {
		put(&m.ends, name, time.Time{})
	}
}

// End records that markers are removed.
func (m *Markers) End(names []string, now time.Time) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, name := range names {
		put(&m.ends, name, now)
	}
}

// Forget removes the record of markers that could not be removed.
func (m *Markers) Forget(names []string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, name := range names {
		delete(m.ends, name)
	}
}

// Has reports whether a configuration is a recorded marker.
func (m *Markers) Has(name string) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	_, found := m.ends[name]
	return found
}
