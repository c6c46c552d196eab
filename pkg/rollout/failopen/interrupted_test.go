package failopen

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Another version, or another manager, decided meanwhile. What this process remembers must not open the webhook again without
// a new outage. An opening that lasts is in the record and in the configuration.
func TestInterruptedWhileOpen(t *testing.T) {
	for name, test := range map[string]struct {
		backend Backend
		record  bool // the status still has the opening
		lasts   bool // the configuration is still open
	}{
		"closed, an endpoint is ready, no record":   {Ready, false, false},
		"closed, no endpoint, no record":            {Unreachable, false, false},
		"closed, no endpoint, with the record":      {Unreachable, true, false},
		"closed, an endpoint is ready, with record": {Ready, true, false},
		"open, no endpoint, with the record":        {Unreachable, true, true},
		"open, an endpoint is ready, with record":   {Ready, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			w.becomes(Unreachable)
			w.pass(20 * time.Minute)
			installtest.Same(t, "open at first", all, w.live)
			w.memory, w.live = w.memory.Interrupted(), closed
			if test.lasts {
				w.live = all
			}
			if !test.record {
				w.record = nil
			}
			w.now = w.now.Add(10 * time.Minute)
			w.backend = test.backend
			for range 4 {
				d := w.decide(true)
				installtest.Same(t, "open in the first seconds", test.lasts, d.Form != closed)
				w.live, w.record, w.memory = d.Form, d.Record, d.Memory
				w.now = w.now.Add(time.Second)
			}
		})
	}
}
