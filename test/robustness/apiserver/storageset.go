package apiserver

import (
	"sync"

	"k8s.io/apiserver/pkg/storage"
)

// opened is the storage of one resource.
type opened struct {
	storage.Interface
	stop func()
}

// storageSet has the storages of one API server. Each is opened at its first request.
type storageSet struct {
	server *Server
	mutex  sync.Mutex
	all    map[*routed]*opening
}

// opening is a storage that is opened, or was. A mutex would not do: a bubble's time stands still while a goroutine waits for one.
type opening struct {
	done chan struct{}
	opened
	err error
}

func (s *storageSet) get(r *routed) (storage.Interface, error) {
	o, first := s.opening(r)
	if first {
		o.opened, o.err = r.open(s.server)
		close(o.done)
	}
	<-o.done
	return o.opened, o.err
}

func (s *storageSet) opening(r *routed) (o *opening, first bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if o, ok := s.all[r]; ok {
		return o, false
	}
	if s.all == nil {
		s.all = map[*routed]*opening{}
	}
	s.all[r] = &opening{done: make(chan struct{})}
	return s.all[r], true
}

// close ends the watches of a resource whose definition changed.
func (s *storageSet) close(r *routed) {
	s.mutex.Lock()
	o := s.all[r]
	delete(s.all, r)
	s.mutex.Unlock()
	o.end()
}

func (s *storageSet) stop() {
	s.mutex.Lock()
	all := s.all
	s.all = nil
	s.mutex.Unlock()
	for _, o := range all {
		o.end()
	}
}

func (o *opening) end() {
	if o == nil {
		return
	}
	<-o.done
	if o.err == nil {
		o.stop()
	}
}
