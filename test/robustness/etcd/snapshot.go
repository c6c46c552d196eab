package etcd

import (
	"maps"
	"slices"
	"time"
)

// Snapshot is the state of a store. It has no ties to the bubble in which it was made.
type Snapshot struct{ store *Store }

// Snapshot returns the state of the store, with its history.
func (s *Store) Snapshot() Snapshot {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return Snapshot{s.copied()}
}

// NewStoreFrom returns a store in the state of a snapshot. Its history has no times: no watch is late with it.
func NewStoreFrom(snapshot Snapshot) *Store { return snapshot.store.copied() }

func (s *Store) copied() *Store {
	c := NewStore()
	c.changes, c.keys, c.compacted = slices.Clone(s.changes), slices.Clone(s.keys), s.compacted
	for i := range c.changes {
		c.changes[i].Time = time.Time{}
	}
	c.versions = maps.Clone(s.versions)
	for key, versions := range c.versions {
		c.versions[key] = slices.Clip(versions) // an append copies it
	}
	return c
}
