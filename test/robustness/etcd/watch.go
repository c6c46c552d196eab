package etcd

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// watcher is the form of Client that the API server watches with.
type watcher struct{ client *Client }

// stream is one watch.
type stream struct {
	client     *Client
	start, end string
	next       int64 // the next revision to send
	woken      chan struct{}
	out        chan clientv3.WatchResponse
	progress   bool // requested
	cut        bool
}

// Watch implements clientv3.Watcher. Events always have the previous value.
func (w watcher) Watch(ctx context.Context, key string, options ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpGet(key, options...)
	end := string(op.RangeBytes())
	if end == "" {
		end = key + "\x00"
	}
	s := &stream{
		client: w.client, start: key, end: end, next: op.Rev(),
		woken: make(chan struct{}, 1), out: make(chan clientv3.WatchResponse),
	}
	if s.next == 0 {
		s.next = w.client.store.Revision() + 1
	}
	view := &w.client.view
	view.mutex.Lock()
	view.streams[s] = struct{}{}
	view.mutex.Unlock()
	go s.run(ctx)
	return s.out
}

// RequestProgress implements clientv3.Watcher: each watch announces the revision up to which it is complete.
func (w watcher) RequestProgress(context.Context) error {
	view := &w.client.view
	view.mutex.Lock()
	defer view.mutex.Unlock()
	for s := range view.streams {
		s.progress = true
	}
	view.wakeAll()
	return nil
}

func (watcher) Close() error { return nil }

func (s *stream) run(ctx context.Context) {
	defer close(s.out)
	defer s.forget()
	for {
		response, wait := s.step()
		if response != nil && !s.send(ctx, *response) {
			return
		}
		if response == nil && !s.sleep(ctx, wait) {
			return
		}
	}
}

func (s *stream) forget() {
	s.client.view.mutex.Lock()
	defer s.client.view.mutex.Unlock()
	delete(s.client.view.streams, s)
}

// send reports whether the watch continues.
func (s *stream) send(ctx context.Context, response clientv3.WatchResponse) bool {
	select {
	case s.out <- response:
		return !response.Canceled
	case <-ctx.Done():
		return false
	}
}

// sleep returns when there may be something to send: after a duration, if that is not zero. It reports whether the watch continues.
func (s *stream) sleep(ctx context.Context, wait time.Duration) bool {
	var late <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-s.woken:
		return true
	case <-late:
		return true
	case <-ctx.Done():
		return false
	}
}

// step returns what is to be sent now, or how long to wait for it.
func (s *stream) step() (*clientv3.WatchResponse, time.Duration) {
	store, view := s.client.store, &s.client.view
	store.mutex.Lock() // the order of locks is that of a write, which wakes
	defer store.mutex.Unlock()
	view.mutex.Lock()
	defer view.mutex.Unlock()
	switch {
	case s.cut:
		return s.canceled(0), 0
	case s.next < store.compacted:
		return s.canceled(store.compacted), 0
	case view.held:
		return nil, 0
	}
	return s.news(store, view.lag)
}

func (s *stream) canceled(compacted int64) *clientv3.WatchResponse {
	return &clientv3.WatchResponse{Canceled: true, CompactRevision: compacted}
}

func (s *stream) news(store *Store, lag time.Duration) (*clientv3.WatchResponse, time.Duration) {
	for ; s.next <= store.revision(); s.next++ {
		change := store.changes[s.next-firstRevision]
		if wait := time.Until(change.Time.Add(lag)); wait > 0 {
			return nil, wait
		}
		if change.Key >= s.start && change.Key < s.end {
			s.next++
			return &clientv3.WatchResponse{Header: header(change.Revision), Events: []*clientv3.Event{event(change)}}, 0
		}
	}
	if s.progress {
		s.progress = false
		return &clientv3.WatchResponse{Header: header(store.revision())}, 0
	}
	return nil, 0
}

func header(revision int64) etcdserverpb.ResponseHeader {
	return etcdserverpb.ResponseHeader{Revision: revision}
}

func event(change Change) *clientv3.Event {
	if change.After == nil {
		deleted := &mvccpb.KeyValue{Key: []byte(change.Key), ModRevision: change.Revision}
		return &clientv3.Event{Type: mvccpb.DELETE, Kv: deleted, PrevKv: change.Before}
	}
	return &clientv3.Event{Type: mvccpb.PUT, Kv: change.After, PrevKv: change.Before}
}
