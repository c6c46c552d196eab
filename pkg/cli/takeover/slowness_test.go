package takeover

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// history is a number of calls, and how many of them took at most 0.5 s, 2.5 s and 10 s.
func history(all, half, two, ten float64) Reading {
	return Reading{Servers: map[string]Calls{"a": {
		Count: map[string]float64{"v": all}, Within: map[string]map[float64]float64{"v": {0.5: half, 2.5: two, 10: ten}},
	}}}
}

// With a timeout of 10 s, a call of more than 2.5 s is slow.
func TestSlowCalls(t *testing.T) {
	for name, test := range map[string]struct {
		timeout  time.Duration
		observed Reading   // before the first change, after no call
		then     []Reading // the last one is judged
		want     []string
	}{
		"no call":                      {0, history(0, 0, 0, 0), []Reading{history(0, 0, 0, 0)}, nil},
		"fast":                         {0, history(100, 100, 100, 100), []Reading{history(200, 150, 200, 200)}, nil},
		"slow":                         {0, history(100, 100, 100, 100), []Reading{history(120, 100, 117, 120)}, []string{"3 of 20 calls of webhook v took longer than half of its timeout of 10s; before: 0 %"}},
		"slow, and not counted before": {0, history(0, 0, 0, 0), []Reading{history(20, 0, 10, 20)}, []string{"10 of 20 calls of webhook v took longer than half of its timeout of 10s; before: 0 %"}},
		"a few":                        {0, history(100, 100, 100, 100), []Reading{history(119, 100, 100, 119)}, nil},
		"a few, and more":              {0, history(100, 100, 100, 100), []Reading{history(119, 100, 100, 119), history(120, 100, 101, 120)}, []string{"19 of 20 calls of webhook v took longer than half of its timeout of 10s; before: 0 %"}},
		"slow before, too":             {0, history(100, 50, 50, 100), []Reading{history(200, 100, 100, 200)}, nil},
		"a longer timeout":             {30 * time.Second, history(100, 100, 100, 100), []Reading{history(120, 100, 100, 120)}, nil},
		"a shorter timeout":            {time.Second, history(100, 100, 100, 100), []Reading{history(120, 100, 120, 120)}, []string{"20 of 20 calls of webhook v took longer than half of its timeout of 1s; before: 0 %"}},
		"again after a window":         {0, history(100, 100, 100, 100), []Reading{history(120, 100, 100, 120), history(140, 120, 120, 140)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWatcher(history(0, 0, 0, 0), test.observed, map[string]time.Duration{"v": test.timeout})
			var got []string
			for _, reading := range test.then {
				got = w.Failures(reading)
			}
			installtest.Same(t, "what stops the command", test.want, got)
		})
	}
}
