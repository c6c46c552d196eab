package etcd

import (
	"sync"
	"time"
)

// view is what the watches of one client may show.
type view struct {
	mutex   sync.Mutex
	lag     time.Duration
	held    bool
	streams map[*stream]struct{}
}

func newView() view { return view{streams: map[*stream]struct{}{}} }

// SetLag makes the watches of the client late by a duration, from the next event on.
func (c *Client) SetLag(lag time.Duration) {
	c.view.mutex.Lock()
	defer c.view.mutex.Unlock()
	c.view.lag = lag
	c.view.wakeAll()
}

// Hold stops the events of all watches of the client until Release.
func (c *Client) Hold() { c.setHeld(true) }

// Release sends the events that Hold stopped.
func (c *Client) Release() { c.setHeld(false) }

func (c *Client) setHeld(held bool) {
	c.view.mutex.Lock()
	defer c.view.mutex.Unlock()
	c.view.held = held
	c.view.wakeAll()
}

// Cut ends the watches of the client with an error. The API server starts new ones.
func (c *Client) Cut() {
	c.view.mutex.Lock()
	defer c.view.mutex.Unlock()
	for s := range c.view.streams {
		s.cut = true
	}
	c.view.wakeAll()
}

func (c *Client) wake() {
	c.view.mutex.Lock()
	defer c.view.mutex.Unlock()
	c.view.wakeAll()
}

func (v *view) wakeAll() {
	for s := range v.streams {
		select {
		case s.woken <- struct{}{}:
		default: // it is awake
		}
	}
}
