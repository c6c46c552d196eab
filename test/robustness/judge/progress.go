package judge

import (
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// mostRepairs is how many times in a minute the manager may write one object.
const mostRepairs = 20

// writesLittle is I11. Leases and Events are not counted.
func writesLittle(c *cluster, e history.Event, report reporter) {
	w := e.Write
	if w == nil || !c.is(w.Client, history.Manager) || w.Object.Kind == "Lease" || w.Object.Kind == "Event" {
		return
	}
	if c.holds(history.Quiet, e.At) {
		report(w.Object, "%s, and nothing has changed", w.Verb)
	}
	if len(c.repairs[w.Object.Key()]) > mostRepairs {
		report(w.Object, "more than %d writes in a minute", mostRepairs)
	}
}

// patience is how long the manager may say nothing about what stops it. A person waits about that long.
const patience = 30 * time.Second

// reportsStops is I13. It is checked at each event, so a run records one after each such time.
func reportsStops(c *cluster, e history.Event, report reporter) {
	for _, h := range c.conditions {
		if h.Kind != history.Stopped || e.At.Sub(h.from) <= patience {
			continue
		}
		for _, object := range h.Objects {
			if !strings.Contains(c.reported[object.Key()].text, h.Cause) {
				report(object, "it has stopped, and nothing names %q", h.Cause)
			}
		}
	}
}
