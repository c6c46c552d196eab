package prober

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An API server that is always late is waited for longer each time, until it has observed the marker.
func TestPatience(t *testing.T) {
	for late, want := range map[time.Duration][]time.Duration{
		10 * time.Millisecond:   {2 * time.Second, 2 * time.Second, 2 * time.Second},
		2500 * time.Millisecond: {2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second},
		7 * time.Second:         {2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second},
		time.Minute:             {2 * time.Second, 4 * time.Second, 8 * time.Second, 8 * time.Second},
	} {
		var p patience
		var waited []time.Duration
		for range want {
			waited = append(waited, p.current())
			p.learn(min(late, p.current()))
		}
		installtest.Same(t, "how long an API server is waited for that is "+late.String()+" late", want, waited)
	}
}
