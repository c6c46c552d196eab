package etcd

import (
	"context"
	"sort"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// Change is one write: a key and its values before and after. Exactly one key changes in each revision.
type Change struct {
	Revision int64
	Time     time.Time
	Key      string
	// Before is nil for a creation. After is nil for a deletion.
	Before, After *mvccpb.KeyValue
}

// Store has all revisions of all keys.
type Store struct {
	// OnWrite, if not nil, observes each write in the order of revisions, with the context of the writer. It must not use the store.
	OnWrite func(context.Context, Change)

	mutex     sync.Mutex
	changes   []Change                      // changes[i] has revision i+firstRevision
	versions  map[string][]*mvccpb.KeyValue // ascending ModRevision; a deletion has Version 0
	keys      []string                      // of versions, sorted
	compacted int64
	clients   []*Client
}

// firstRevision is that of the first write: an empty etcd is at revision 1.
const firstRevision = 2

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{versions: map[string][]*mvccpb.KeyValue{}}
}

// Revision returns the revision of the last write.
func (s *Store) Revision() int64 {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.revision()
}

func (s *Store) revision() int64 { return int64(len(s.changes)) + firstRevision - 1 }

// Compact forgets the revisions before one: reads and watches of them fail.
func (s *Store) Compact(revision int64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.compacted = max(s.compacted, revision)
}

// Get returns the value of a key at a revision, and the revision of the store. Zero is the current one.
func (s *Store) Get(key string, revision int64) (*mvccpb.KeyValue, int64, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := s.readable(revision); err != nil {
		return nil, 0, err
	}
	return s.at(key, revision), s.revision(), nil
}

// Range returns the values of the keys from start, without end, at a revision: at most limit of them, unless that is zero; and how many
// there are in total.
func (s *Store) Range(start, end string, revision, limit int64) (values []*mvccpb.KeyValue, total, current int64, err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := s.readable(revision); err != nil {
		return nil, 0, 0, err
	}
	for i := sort.SearchStrings(s.keys, start); i < len(s.keys) && s.keys[i] < end; i++ {
		value := s.at(s.keys[i], revision)
		if value == nil {
			continue
		}
		if total++; limit == 0 || total <= limit {
			values = append(values, value)
		}
	}
	return values, total, s.revision(), nil
}

func (s *Store) readable(revision int64) error {
	switch {
	case revision > s.revision():
		return rpctypes.ErrFutureRev
	case revision > 0 && revision < s.compacted:
		return rpctypes.ErrCompacted
	}
	return nil
}

// at returns nil if the key has no value at the revision.
func (s *Store) at(key string, revision int64) *mvccpb.KeyValue {
	versions := s.versions[key]
	for i := len(versions) - 1; i >= 0; i-- {
		if revision == 0 || versions[i].ModRevision <= revision {
			if versions[i].Version == 0 {
				return nil
			}
			return versions[i]
		}
	}
	return nil
}

// Put writes a value if the key was last written at the expected revision; zero expects that it has no value. It returns the value
// before the write, which is the current one if ok is false.
func (s *Store) Put(ctx context.Context, key string, value []byte, expected, lease int64) (before *mvccpb.KeyValue, revision int64, ok bool) {
	return s.write(ctx, key, expected, func(before *mvccpb.KeyValue, next *mvccpb.KeyValue) {
		next.Value, next.Lease = value, lease
		next.CreateRevision, next.Version = next.ModRevision, 1
		if before != nil {
			next.CreateRevision, next.Version = before.CreateRevision, before.Version+1
		}
	})
}

// Delete deletes a key if it was last written at the expected revision. It returns what Put returns.
func (s *Store) Delete(ctx context.Context, key string, expected int64) (before *mvccpb.KeyValue, revision int64, ok bool) {
	return s.write(ctx, key, expected, func(_, _ *mvccpb.KeyValue) {})
}

func (s *Store) write(ctx context.Context, key string, expected int64, fill func(before, next *mvccpb.KeyValue)) (*mvccpb.KeyValue, int64, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	before := s.at(key, 0)
	if modified(before) != expected {
		return before, s.revision(), false
	}
	next := &mvccpb.KeyValue{Key: []byte(key), ModRevision: s.revision() + 1}
	fill(before, next)
	s.commit(ctx, key, before, next)
	return before, s.revision(), true
}

func modified(value *mvccpb.KeyValue) int64 {
	if value == nil {
		return 0
	}
	return value.ModRevision
}

func (s *Store) commit(ctx context.Context, key string, before, next *mvccpb.KeyValue) {
	if _, known := s.versions[key]; !known {
		i := sort.SearchStrings(s.keys, key)
		s.keys = append(s.keys, "")
		copy(s.keys[i+1:], s.keys[i:])
		s.keys[i] = key
	}
	s.versions[key] = append(s.versions[key], next)
	change := Change{Revision: next.ModRevision, Time: time.Now(), Key: key, Before: before, After: next}
	if next.Version == 0 {
		change.After = nil
	}
	s.changes = append(s.changes, change)
	if s.OnWrite != nil {
		s.OnWrite(ctx, change)
	}
	for _, client := range s.clients {
		client.wake()
	}
}
