package controller

import (
	"runtime"
)

// processors are places to render and compare in, as many as can be used at once. More passes
// than that would only hold in memory what they have made while they wait for a processor; and
// with each pass done in one go, fewer are needed.
type processors chan struct{}

func newProcessors() processors { return make(processors, runtime.GOMAXPROCS(0)) }

// take waits for a place, until free is called.
func (p processors) take() (free func()) {
	p <- struct{}{}
	return func() { <-p }
}
