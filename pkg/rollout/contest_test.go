package rollout

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// repairsByAnyClient is how many repairs begin a contest when each client undoes too few of them.
const repairsByAnyClient = 30

// adversary is another client that weakens the policy of the webhook of the
// Deployment "manager".
func adversary(c *cluster) {
	live := c.validating("manager")
	live.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
	live.ManagedFields = []metav1.ManagedFieldsEntry{wrote("adversary", `{"f:webhooks":{"k:{\"name\":\"v.manager.example.com\"}":{"f:failurePolicy":{}}}}`)}
}

// contend is a pass after which repairs are counted, as the controller does.
func (c *cluster) contend() Plan {
	previous := c.Previous
	plan := c.pass()
	for _, step := range plan.Steps {
		if step.Repairs(previous, c.Observed.Contests) {
			c.Observed.Contests[step.Key()] = c.Observed.Contests[step.Key()].Repaired(step.Drift, c.now)
		}
	}
	return plan
}

// A client that gives another name each time is not fought without limit either.
func TestContestUnderManyNames(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	repairs := 0
	for i := range 100 {
		live := c.validating("manager")
		live.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
		live.ManagedFields = []metav1.ManagedFieldsEntry{wrote(fmt.Sprint("client-", i), `{"f:webhooks":{"k:{\"name\":\"v.manager.example.com\"}":{"f:failurePolicy":{}}}}`)}
		repairs += len(c.contend().Steps)
		c.wait(time.Second)
	}
	if repairs != repairsByAnyClient+1 {
		t.Errorf("%d repairs, want %d", repairs, repairsByAnyClient+1)
	}
}

// Another client that reverts each repair at once: three repairs in a minute, then one
// at the end of each pause, which doubles up to ten minutes; when the other client has
// been quiet for twice the pause, the manager repairs at once again.
func TestContestTimeline(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	began := c.now
	for _, moment := range []struct {
		at         time.Duration
		wantRepair bool
		wantLook   time.Duration // after the beginning; 0 for none because of the contest
	}{
		{at: 0, wantRepair: true},
		{at: time.Second, wantRepair: true},
		{at: 2 * time.Second, wantRepair: true},
		{at: 3 * time.Second, wantLook: 62 * time.Second},
		{at: 61 * time.Second, wantLook: 62 * time.Second},
		{at: 62 * time.Second, wantRepair: true},
		{at: 63 * time.Second, wantLook: 182 * time.Second},
		{at: 181 * time.Second, wantLook: 182 * time.Second},
		{at: 182 * time.Second, wantRepair: true},
		{at: 183 * time.Second, wantLook: 422 * time.Second},
		{at: 422 * time.Second, wantRepair: true},
		{at: 423 * time.Second, wantLook: 902 * time.Second},
		{at: 902 * time.Second, wantRepair: true},
		{at: 903 * time.Second, wantLook: 1502 * time.Second},
		{at: 1502 * time.Second, wantRepair: true},
		{at: 1503 * time.Second, wantLook: 2102 * time.Second},
		{at: 2102 * time.Second, wantRepair: true},
		// Quiet for twice ten minutes, and then again.
		{at: 3302 * time.Second, wantRepair: true},
		{at: 3303 * time.Second, wantRepair: true},
		{at: 3304 * time.Second, wantRepair: true},
		{at: 3305 * time.Second, wantLook: 3364 * time.Second},
	} {
		c.now = began.Add(moment.at)
		adversary(c)
		plan := c.contend()
		if repairs := len(plan.Steps) > 0; repairs != moment.wantRepair {
			t.Errorf("at %s, steps %q", moment.at, stepsOf(plan))
		}
		contested := conditionOf(plan, "Contested")
		if moment.wantLook == 0 {
			continue
		}
		want := `Contested: ValidatingWebhookConfiguration ` + c.validating("manager").Name +
			`: field manager "adversary" keeps changing webhooks[name="v.manager.example.com"].failurePolicy back; the manager repairs it again at ` +
			began.Add(moment.wantLook).Format(time.RFC3339) + `. Stop that client, or delete the ClusterServiceVersion`
		if contested != want {
			t.Errorf("at %s, the condition is %q, want %q", moment.at, contested, want)
		}
		if !plan.Requeue.At.Equal(began.Add(moment.wantLook)) {
			t.Errorf("at %s, the next look is at %s, want %s", moment.at, plan.Requeue.At.Sub(began), moment.wantLook)
		}
		if diff := cmp.Diff([]string{"v.manager.example.com Registered Serving: "}, webhooksOf(plan)); diff != "" {
			t.Errorf("at %s, webhooks (-want +got):\n%s", moment.at, diff)
		}
	}
}

// The condition goes when the other client has given up.
func TestContestEnds(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	for range 3 {
		adversary(c)
		c.contend()
		c.wait(time.Second)
	}
	plan := c.contend()
	if conditionOf(plan, "Contested") == "" {
		t.Fatal("not contested after three repairs")
	}
	c.now = plan.Requeue.At
	if plan = c.contend(); conditionOf(plan, "Contested") == "" || len(plan.Steps) > 0 {
		t.Errorf("at the end of the pause, with nothing to repair: steps %q, condition %q", stepsOf(plan), conditionOf(plan, "Contested"))
	}
	c.now = plan.Requeue.At
	if plan = c.contend(); conditionOf(plan, "Contested") != "" || !plan.Requeue.At.IsZero() {
		t.Errorf("after twice the pause the condition is %q, the next look at %s", conditionOf(plan, "Contested"), plan.Requeue.At)
	}
}

// A client that deletes the registration again and again is answered alike.
func TestContestOfDeletions(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	for range 3 {
		c.Observed.Validating = nil
		if plan := c.contend(); len(plan.Steps) != 1 {
			t.Fatalf("steps %q", stepsOf(plan))
		}
		c.wait(time.Second)
		c.contend() // the cache shows it
	}
	c.Observed.Validating = nil
	plan := c.contend()
	if steps := stepsOf(plan); len(steps) > 0 {
		t.Errorf("steps %q", steps)
	}
	if got := conditionOf(plan, "Contested"); got == "" {
		t.Error("not contested")
	}
}
