package rollout

import (
	"fmt"
	"time"
)

// waitsFor says what a Deployment still lacks before the next may start; empty when
// it lacks nothing.
func (v deploymentView) waitsFor() string {
	if !v.progress.complete() {
		return v.progress.message
	}
	for _, w := range v.webhooks {
		if !w.live() {
			return fmt.Sprintf("webhook %s: %s", w.Description.GenerateName, w.message)
		}
	}
	return ""
}

// relax tells whether a Deployment has held up the next for long enough. Operators
// exist whose first Deployment does not get ready before a webhook of the second
// answers: the order is a preference, never a trap.
func (p *planner) relax(v deploymentView, waits string) bool {
	if v.progress.since.IsZero() {
		return false
	}
	bound := v.progress.since.Add(p.Policy.OrderBound)
	if running := v.progress.running; !running.IsZero() {
		bound = earlier(bound, running.Add(p.Policy.RunningBound))
	}
	if p.now.Before(bound) {
		p.lookAgain(bound)
		return false
	}
	if p.relaxed == "" {
		p.relaxed = fmt.Sprintf("deployment %s is not complete within its bound, the next one starts without it: %s", v.name, waits)
	}
	return true
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
