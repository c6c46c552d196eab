package records

import (
	"slices"
	"sync"
)

// Markers records the names of the markers that this process has created and not yet removed. A reconciliation that runs meanwhile
// must not remove them.
type Markers struct {
	mutex sync.Mutex
	names []string
}

// Add records markers that are about to be created.
func (m *Markers) Add(names []string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.names = append(m.names, names...)
}

// Remove removes the record of markers.
func (m *Markers) Remove(names []string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.names = slices.DeleteFunc(m.names, func(name string) bool { return slices.Contains(names, name) })
}

// Has reports whether a configuration is a recorded marker.
func (m *Markers) Has(name string) bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Contains(m.names, name)
}
