package rollout

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The settle time begins at the recorded creation time of a registration. Without a record it
// begins at the end of the second in metadata.creationTimestamp.
func TestSettleTimeBeginsWithCreation(t *testing.T) {
	const created = 300 * time.Millisecond // after the full second
	for name, test := range map[string]struct {
		recorded bool
		settled  time.Duration
	}{
		"recorded":     {true, created + 5*time.Second},
		"not recorded": {false, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c := unregistered(t)
			c.Policy.Settle = 5 * time.Second
			second := c.now.Truncate(time.Second)
			c.now = second.Add(created)
			c.reconcile()
			if test.recorded {
				c.Observed.CreationTimes = map[types.UID]time.Time{c.Observed.Validating[0].UID: c.now}
			}
			plan := c.reconcile()
			if want := second.Add(test.settled); !plan.Requeue.At.Equal(want) {
				t.Fatalf("the requeue is at %s, want %s", plan.Requeue.At, want)
			}
			c.now = plan.Requeue.At.Add(-time.Millisecond)
			if c.reconcile(); c.CSV.Status.Phase == succeeded {
				t.Error("it has succeeded before the requeue")
			}
			c.now = plan.Requeue.At
			if c.reconcile(); c.CSV.Status.Phase != succeeded {
				t.Errorf("then it is %s: %s", c.CSV.Status.Phase, c.CSV.Status.Message)
			}
		})
	}
}
