package integration

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// ownClock is a manager whose clock advances when the test sets it: within a second by that
// clock it does the same on a machine that is busy with something else.
type ownClock struct {
	*manager
	clock *testingclock.FakeClock
}

func manageByOwnClock(e *env, config *rest.Config) ownClock {
	e.Helper()
	clock := testingclock.NewFakeClock(time.Now())
	return ownClock{manageThrough(e, config, func(o *controller.Options) { o.Clock = clock }), clock}
}

const (
	tick      = 20 * time.Millisecond
	aQuarter  = time.Second / 4
	untilRest = 15 // ticks, longer than an answer of the API server about itself is good for
)

// flows has the clock advance like that on the wall, until it is asked to stop.
func (m ownClock) flows() (stop func()) {
	ctx, cancel := context.WithCancel(m.ctx)
	var flowing wait.Group
	flowing.Start(func() { wait.Until(func() { m.clock.Step(tick) }, tick, ctx.Done()) })
	return func() { cancel(); flowing.Wait() }
}

// withinASecond waits for what a watch is to show, while the clock advances by a second in all: by
// a quarter whenever the manager has rested for a while. On the wall it may take longer.
func (m ownClock) withinASecond(w watch.Interface, shows func(watch.Event) (ok bool, seen any)) {
	m.Helper()
	began, patient, poll := time.Now(), time.After(patience), time.NewTicker(tick)
	defer poll.Stop()
	var last any
	quarters, looks, rested := 0, m.passes("ClusterServiceVersion"), 0
	for {
		select {
		case event := <-w.ResultChan():
			ok, seen := shows(event)
			if ok {
				m.Logf("after %s on the wall and %s of the manager's clock", time.Since(began).Round(time.Millisecond), time.Duration(quarters)*aQuarter)
				return
			}
			last = seen
		case <-poll.C:
			now := m.passes("ClusterServiceVersion")
			if rested++; now != looks {
				looks, rested = now, 0
			}
			if rested == untilRest && quarters < 4 {
				m.clock.Step(aQuarter)
				quarters, rested = quarters+1, 0
			}
		case <-patient:
			m.Fatalf("not within a second of the manager's clock, nor %s on the wall; last observed: %+v", patience, last)
		}
	}
}
