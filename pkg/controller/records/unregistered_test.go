package records

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Another client that restores what a deletion removes extends the wait for a limited time, with any settle time. The
// deletion ends in the first reconciliation after the settle time.
func TestUnregistered(t *testing.T) {
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, settle := range []time.Duration{0, 300 * time.Millisecond, 5 * time.Second, unregisteredLimit, 3 * unregisteredLimit} {
		for _, interval := range []time.Duration{100 * time.Millisecond, time.Second, 9 * time.Second} {
			var u Unregistered
			installtest.Same(t, "before", true, u.At("a").IsZero())
			now := start
			for u.Add("a", settle, now); now.Before(u.At("a").Add(settle)); u.Add("a", settle, now) {
				if now = now.Add(interval); now.Sub(start) > time.Hour {
					t.Fatalf("settle %s, interval %s: the deletion does not end", settle, interval)
				}
			}
			if waited := now.Sub(start); waited > unregisteredLimit+settle+interval {
				t.Errorf("settle %s, interval %s: the deletion waits %s", settle, interval, waited)
			}
		}
	}
}

// A later registration counts as the last one: after a long pause, and while something else blocks the deletion. What
// blocks the deletion ends in the first reconciliation that does not observe it any more.
func TestLastUnregistration(t *testing.T) {
	const settle = 300 * time.Millisecond
	start := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	minute := func(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Minute))) }
	for name, test := range map[string]struct {
		record func(*Unregistered)
		want   time.Time
	}{
		"once":          {func(u *Unregistered) { u.Add("a", settle, start) }, start},
		"nothing":       {func(u *Unregistered) { u.Block("a", false, start) }, time.Time{}},
		"after a pause": {func(u *Unregistered) { u.Add("a", settle, start); u.Add("a", settle, minute(20)) }, minute(20)},
		"never blocked": {func(u *Unregistered) { u.Add("a", settle, start); u.Block("a", false, minute(1)) }, start},
		"the cause of a block ends": {func(u *Unregistered) {
			u.Add("a", settle, start)
			u.Block("a", true, start)
			u.Block("a", false, minute(20))
		}, minute(20)},
		"it ends after two hours": {func(u *Unregistered) {
			u.Block("a", true, start)
			u.Block("a", true, minute(119))
			u.Add("b", settle, minute(119))
			u.Block("a", false, minute(120))
		}, minute(120)},
		"it ends after failed attempts": {func(u *Unregistered) {
			u.Block("a", true, start)
			u.Add("a", settle, minute(1))
			u.Block("a", false, minute(2))
		}, minute(2)},
		"restored again during a block": {func(u *Unregistered) {
			for n := range 100 {
				u.Add("a", settle, minute(float64(n)/10))
				u.Block("a", n < 99, minute(float64(n)/10))
			}
		}, minute(9.9)},
		"restored again after a block": {func(u *Unregistered) {
			u.Block("a", true, start)
			for n := range 500 {
				u.Block("a", false, minute(20).Add(time.Duration(n)*time.Second))
				u.Add("a", time.Hour, minute(20).Add(time.Duration(n)*time.Second))
			}
		}, minute(20).Add(unregisteredLimit)},
		"restored while an API server is late": {func(u *Unregistered) { u.Add("a", settle, start); u.Add("a", settle, minute(0.9)) }, minute(0.9)},
		"an old one":                           {func(u *Unregistered) { u.Add("a", settle, start); u.Add("b", settle, start.Add(2*unregisteredKept)) }, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			var u Unregistered
			test.record(&u)
			installtest.Same(t, "the last one", test.want, u.At("a"))
		})
	}
}
