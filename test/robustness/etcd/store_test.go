package etcd

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Writes succeed on the expected revision only, and earlier revisions remain readable.
func TestRevisions(t *testing.T) {
	s, ctx := NewStore(), t.Context()
	_, created, ok := s.Put(ctx, "/a", []byte("1"), 0, 0)
	if !ok || created != 2 {
		t.Fatal(created, ok)
	}
	if before, _, ok := s.Put(ctx, "/a", []byte("x"), 0, 0); ok || string(before.Value) != "1" {
		t.Error("created twice")
	}
	if _, _, ok := s.Put(ctx, "/a", []byte("2"), created, 0); !ok {
		t.Error("an update of the current revision fails")
	}
	if _, _, ok := s.Delete(ctx, "/a", created); ok {
		t.Error("a deletion of an old revision succeeds")
	}
	for revision, want := range map[int64]string{created: "1", created + 1: "2", 0: "2"} {
		value, _, err := s.Get("/a", revision)
		if err != nil || string(value.Value) != want || value.CreateRevision != created {
			t.Errorf("at %d: %v %v", revision, value, err)
		}
	}
	s.Compact(created + 1)
	if _, _, err := s.Get("/a", created); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Error("a compacted revision:", err)
	}
	if _, _, err := s.Get("/a", 100); !errors.Is(err, rpctypes.ErrFutureRev) {
		t.Error("a future revision:", err)
	}
}

// A range is sorted and limited, and has no deleted keys.
func TestRange(t *testing.T) {
	s, ctx := NewStore(), t.Context()
	for _, key := range []string{"/p/c", "/p/a", "/q", "/p/b"} {
		s.Put(ctx, key, []byte(key), 0, 0)
	}
	s.Delete(ctx, "/p/b", 5)
	values, total, _, err := s.Range("/p/", "/p0", 0, 1)
	if err != nil || total != 2 || len(values) != 1 || string(values[0].Key) != "/p/a" {
		t.Error(values, total, err)
	}
}

// A copy of a store shares nothing that changes.
func TestSnapshot(t *testing.T) {
	s, ctx := NewStore(), t.Context()
	s.Put(ctx, "/a", []byte("1"), 0, 0)
	snapshot := s.Snapshot()
	first, second := NewStoreFrom(snapshot), NewStoreFrom(snapshot)
	first.Put(ctx, "/a", []byte("first"), 2, 0)
	second.Put(ctx, "/a", []byte("second"), 2, 0)
	for want, store := range map[string]*Store{"1": s, "first": first, "second": second} {
		if value, _, _ := store.Get("/a", 0); string(value.Value) != want {
			t.Errorf("%s, not %s", value.Value, want)
		}
	}
}

// A watch shows everything from its revision on, in time, late or not before its release, and then its progress.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := NewStore()
		c := s.NewClient(ctx)
		s.Put(ctx, "/a", []byte("1"), 0, 0)
		watch := c.Kubernetes.Watch(ctx, "/", clientv3.WithPrefix(), clientv3.WithRev(2))
		next := func() (clientv3.WatchResponse, time.Duration) {
			start := time.Now()
			return <-watch, time.Since(start)
		}
		if r, after := next(); len(r.Events) != 1 || !r.Events[0].IsCreate() || after != 0 {
			t.Error(r, after)
		}
		c.SetLag(time.Second)
		s.Put(ctx, "/a", []byte("2"), 2, 0)
		if r, after := next(); string(r.Events[0].PrevKv.Value) != "1" || after != time.Second {
			t.Error(r, after)
		}
		c.SetLag(0)
		c.Hold()
		s.Delete(ctx, "/a", 3)
		time.AfterFunc(time.Minute, c.Release)
		if r, after := next(); r.Events[0].Type != clientv3.EventTypeDelete || after != time.Minute {
			t.Error(r, after)
		}
		if err := c.Kubernetes.RequestProgress(ctx); err != nil {
			t.Error(err)
		}
		if r, _ := next(); !r.IsProgressNotify() || r.Header.Revision != 4 {
			t.Error(r)
		}
		c.Cut()
		if r, _ := next(); r.Err() == nil {
			t.Error(r)
		}
	})
}
