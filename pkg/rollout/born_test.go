package rollout

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// API servers are given their time from the instant on at which a registration was created,
// or, where nobody remembers that, from the end of the second in which it was.
func TestSettlingBeginsWithTheRegistration(t *testing.T) {
	const created = 300 * time.Millisecond // after the second
	for name, test := range map[string]struct {
		remembered bool
		settled    time.Duration
	}{
		"remembered": {true, created + 5*time.Second},
		"forgotten":  {false, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c := unregistered(t)
			c.Policy.Settle = 5 * time.Second
			second := c.now.Truncate(time.Second)
			c.now = second.Add(created)
			c.pass()
			if test.remembered {
				c.Observed.CreationTimes = map[types.UID]time.Time{c.Observed.Validating[0].UID: c.now}
			}
			plan := c.pass()
			if want := second.Add(test.settled); !plan.Requeue.At.Equal(want) {
				t.Fatalf("the next look is at %s, want %s", plan.Requeue.At, want)
			}
			c.now = plan.Requeue.At.Add(-time.Millisecond)
			if c.pass(); c.CSV.Status.Phase == succeeded {
				t.Error("it has succeeded a moment earlier")
			}
			c.now = plan.Requeue.At
			if c.pass(); c.CSV.Status.Phase != succeeded {
				t.Errorf("then it is %s: %s", c.CSV.Status.Phase, c.CSV.Status.Message)
			}
		})
	}
}
