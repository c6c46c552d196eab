package ui

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// openViews are the views that are open in browsers.
type openViews struct {
	opened, updated chan struct{} // receive after a view was opened, and after an update

	mutex  sync.Mutex
	open   map[chan int]bool // each receives the number of the page after a change
	number int               // of the page
}

func newOpenViews() openViews {
	return openViews{opened: make(chan struct{}, 1), updated: make(chan struct{}, 1), open: map[chan int]bool{}}
}

func (v *openViews) count() int {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	return len(v.open)
}

// update sends the number of a new page to each view.
func (v *openViews) update(number int) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.number = number
	signal(v.updated)
	for changed := range v.open {
		send(changed, number)
	}
}

// send replaces a number that was not received yet.
func send(to chan int, number int) {
	select {
	case <-to:
	default:
	}
	to <- number
}

// signal does nothing if the last signal was not received yet.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// add opens a view that shows the page of a number.
func (v *openViews) add(shown int) chan int {
	changed := make(chan int, 1)
	v.mutex.Lock()
	defer v.mutex.Unlock()
	v.open[changed] = true
	if v.number != shown {
		changed <- v.number
	}
	signal(v.opened)
	return changed
}

func (v *openViews) remove(changed chan int) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	delete(v.open, changed)
}

// heartbeat is the time after which an open view is sent something, so that a closed one is noticed.
const heartbeat = 15 * time.Second

// serve sends a server-sent event after each change, until the view is closed. A browser that connects again names the
// last event.
func (v *openViews) serve(w http.ResponseWriter, r *http.Request) {
	shown, _ := strconv.Atoi(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("number")))
	changed := v.add(shown)
	defer v.remove(changed)
	w.Header().Set("Content-Type", "text/event-stream")
	connection := http.NewResponseController(w)
	write := func(text string) bool {
		if err := connection.SetWriteDeadline(time.Now().Add(heartbeat)); err != nil {
			return false
		}
		_, err := w.Write([]byte(text))
		return err == nil && connection.Flush() == nil
	}
	for more := write(": open\n\n"); more; {
		select {
		case <-r.Context().Done():
			return
		case number := <-changed:
			more = write(fmt.Sprintf("event: change\nid: %[1]d\ndata: %[1]d\n\n", number))
		case <-time.After(heartbeat):
			more = write(": open\n\n")
		}
	}
}
