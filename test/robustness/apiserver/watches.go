package apiserver

import (
	"context"
	"sync"
)

// watches are the watches of clients that run.
type watches struct {
	mutex   sync.Mutex
	next    int
	cancels map[int]context.CancelFunc
}

// add returns a function that forgets the watch.
func (w *watches) add(cancel context.CancelFunc) (forget func()) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.cancels == nil {
		w.cancels = map[int]context.CancelFunc{}
	}
	w.next++
	key := w.next
	w.cancels[key] = cancel
	return func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		delete(w.cancels, key)
	}
}

func (w *watches) cut() {
	w.mutex.Lock()
	cancels := w.cancels
	w.cancels = nil
	w.mutex.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
}
