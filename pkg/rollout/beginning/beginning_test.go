package beginning

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return noon.Add(d) }

func TestDecide(t *testing.T) {
	const settle, moment = 300 * time.Millisecond, time.Millisecond
	behind := []string{"10.0.0.2:6443", "10.0.0.3:6443"}
	late := Answer{Asked: after(moment), Answered: after(time.Second), Behind: behind}
	lateAndUnknown := late
	lateAndUnknown.Unknown = "no address"
	unknown := Answer{Asked: after(-time.Second), Answered: after(-time.Second), Unknown: "no address"}
	limit := after(time.Minute)
	for name, test := range map[string]struct {
		answer Answer
		after  time.Duration
		want   Decision
	}{
		"never asked":                              {Answer{}, moment, Decision{State: Unasked, Until: limit}},
		"at a time that is not known":              {Answer{}, 0, Decision{State: Waits, Until: after(time.Second)}},
		"at the end of this second":                {Answer{Observed: after(-time.Hour)}, -moment, Decision{State: Waits, Until: noon}},
		"asked before the registration":            {Answer{Asked: noon, Answered: after(moment), Observed: noon}, moment, Decision{State: Unasked, Until: limit}},
		"observed":                                 {Answer{Asked: after(moment), Answered: after(moment), Observed: after(moment)}, moment, Decision{}},
		"observed, and a later one not":            {Answer{Asked: after(time.Second), Answered: after(time.Second), Behind: behind, Observed: after(moment)}, time.Second, Decision{}},
		"some are behind":                          {late, time.Second, Decision{Waits, after(2 * time.Second), behind}},
		"some were behind":                         {late, 2 * time.Second, Decision{Unasked, limit, behind}},
		"some are behind, and some are unknown":    {lateAndUnknown, time.Second, Decision{Waits, after(2 * time.Second), behind}},
		"some were behind before the registration": {Answer{Asked: noon, Answered: after(moment), Behind: behind}, moment, Decision{State: Unasked, Until: limit}},
		"some are behind for a minute":             {late, time.Minute, Decision{}},
		"unknown":                                  {unknown, settle - moment, Decision{State: Waits, Until: after(settle)}},
		"unknown, and settled":                     {unknown, settle, Decision{}},
		"unknown a minute ago":                     {Answer{Answered: after(moment - time.Minute), Unknown: "no address"}, moment, Decision{State: Unasked, Until: limit}},
		"never asked, long ago":                    {Answer{}, time.Hour, Decision{}},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "decision", test.want, test.answer.Decide(noon, settle, after(test.after)))
		})
	}
}

// What was observed once stays observed.
func TestAnswers(t *testing.T) {
	one, two, three := after(time.Second), after(2*time.Second), after(3*time.Second)
	var a Answers
	a = a.With(webhookconfig.Kinds{Validating: true}, noon, one, nil, "")
	installtest.Same(t, "of one kind", Answers{Validating: Answer{Asked: noon, Answered: one, Observed: noon}}, a)
	a = a.With(webhookconfig.Kinds{Validating: true, Mutating: true}, two, three, []string{"a"}, "")
	late := Answer{Asked: two, Answered: three, Behind: []string{"a"}}
	installtest.Same(t, "mutating", late, a.Mutating)
	late.Observed = noon
	installtest.Same(t, "validating", late, a.Validating)
	a = a.With(webhookconfig.Kinds{Validating: true}, three, three, nil, "no address")
	installtest.Same(t, "unknown", Answer{Asked: three, Answered: three, Unknown: "no address", Observed: noon}, a.Validating)
}

func TestReason(t *testing.T) {
	installtest.Same(t, "unasked", "every API server", Decision{State: Unasked}.Reason())
	installtest.Same(t, "behind", "these API servers: a, b", Decision{Behind: []string{"a", "b"}}.Reason())
}
