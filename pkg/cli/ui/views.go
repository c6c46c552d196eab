package ui

import (
	"net/http"
	"sync"
	"time"
)

// views are the views that are open in browsers.
type views struct {
	opened chan struct{} // receives after a view was opened

	mutex sync.Mutex
	open  map[chan struct{}]bool
}

func (v *views) count() int {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return len(v.open)
}

// update lets each view load its content again.
func (v *views) update() {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for changed := range v.open {
		signal(changed)
	}
}

// signal does nothing if the last signal was not received yet.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

func (v *views) add() chan struct{} {
	changed := make(chan struct{}, 1)
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.open[changed] = true
	signal(v.opened)
	return changed
}

func (v *views) remove(changed chan struct{}) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	delete(v.open, changed)
}

// heartbeat is the time after which an open view is sent something, so that a closed one is noticed.
const heartbeat = 15 * time.Second

// serve sends a server-sent event after each change, until the view is closed.
func (v *views) serve(w http.ResponseWriter, r *http.Request) {
	changed := v.add()
	defer v.remove(changed)
	w.Header().Set("Content-Type", "text/event-stream")
	connection := http.NewResponseController(w)
	send := func(text string) bool {
		if err := connection.SetWriteDeadline(time.Now().Add(heartbeat)); err != nil {
			return false
		}
		_, err := w.Write([]byte(text))
		return err == nil && connection.Flush() == nil
	}
	for more := send(": open\n\n"); more; {
		select {
		case <-r.Context().Done():
			return
		case <-changed:
			more = send("event: change\ndata:\n\n")
		case <-time.After(heartbeat):
			more = send(": open\n\n")
		}
	}
}
