package ending

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestWait(t *testing.T) {
	const settle, moment = 300 * time.Millisecond, time.Millisecond
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	behind := []string{"10.0.0.2:6443", "10.0.0.3:6443"}
	found := func(after time.Duration, behind ...string) *Found { return &Found{noon.Add(after), behind} }
	lasts := func(until time.Duration, reason string) Decision { return Decision{Lasts, noon.Add(until), reason} }
	const mayCall, stillCall = "API servers may still call the webhooks", "these API servers still call the webhooks: 10.0.0.2:6443, 10.0.0.3:6443"
	for name, test := range map[string]struct {
		after time.Duration
		found *Found
		want  Decision
	}{
		"at the end":                       {0, nil, lasts(settle, mayCall)},
		"before the settle time is over":   {settle - moment, found(moment), lasts(settle, mayCall)},
		"after it":                         {settle, nil, Decision{State: Unasked}},
		"they were asked before":           {settle, found(settle - moment), Decision{State: Unasked}},
		"none is behind":                   {settle + moment, found(settle), Decision{}},
		"some are behind":                  {settle + moment, found(settle, behind...), lasts(settle+moment+time.Second, stillCall)},
		"some are behind for a minute":     {settle + time.Minute, found(settle+time.Minute, behind...), Decision{}},
		"some are behind, almost a minute": {settle + time.Minute - moment, found(settle, behind...), lasts(settle+time.Minute-moment+time.Second, stillCall)},
		"long after the end":               {time.Hour, nil, Decision{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Wait{Ended: noon, Settle: settle, Found: test.found}.Decide(noon.Add(test.after))
			installtest.Same(t, "decision", test.want, got)
		})
	}
}
