package controller

import "runtime"

// processors are places to decide in, as many as can be used at once. Passes wait for the API
// server side by side; what they decide by would only lie in memory while it waits for a
// processor, and be out of date when it has one.
type processors chan struct{}

func newProcessors() processors { return make(processors, runtime.GOMAXPROCS(0)) }

// take waits for a place, until free is called.
func (p processors) take() (free func()) {
	p <- struct{}{}
	return func() { <-p }
}
