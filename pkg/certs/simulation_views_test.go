package certs

import (
	"fmt"
	"slices"
	"time"
)

// views are what API servers have observed of the registrations.
type views struct {
	*apiServer
	delay []time.Duration // after which each API server observes registrations
	shown []time.Time     // the state that each API server has observed. It never observes an earlier one again
	mute  bool            // the manager cannot ask API servers what they have observed
}

// view returns the time of the state that an API server has observed.
func (v *views) view(i int) time.Time {
	v.shown = append(v.shown, make([]time.Time, max(0, len(v.delay)-len(v.shown)))...)
	if at := v.now.Add(-v.delay[i]); at.After(v.shown[i]) {
		v.shown[i] = at
	}
	return v.shown[i]
}

// propagation asks the API servers, if they can be asked.
func (v *views) propagation() *Propagation {
	if v.mute {
		return &Propagation{Unknown: "no API server can be asked"}
	}
	asked := &Propagation{}
	for i := range v.delay {
		earlier := func(r object[registration]) bool { return r.stateAt(v.view(i)).number != r.last().number }
		if slices.ContainsFunc(v.registrations, earlier) {
			asked.Behind = append(asked.Behind, fmt.Sprint("API server ", i))
		}
	}
	return asked
}
