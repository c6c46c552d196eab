package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// If a client, such as a GitOps tool, recreates what the manager deletes, the manager deletes three
// times in a minute, then once after each pause.
func TestContestOfCreations(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	deletions, contested := 0, ""
	for i := range 100 {
		stale := c.validating("manager").DeepCopy()
		stale.Name, stale.UID = "stale", types.UID(fmt.Sprint("created-", i))
		stale.CreationTimestamp = metav1.NewTime(c.now) // the older of two for one webhook is kept
		c.store(stale)
		plan := c.reconcileContest()
		for _, step := range plan.Steps {
			if step.Verb == Delete {
				deletions++
			}
		}
		contested = conditionOf(plan, "Contested")
		c.wait(time.Second)
	}
	if deletions != 4 {
		t.Errorf("%d deletions in 100 seconds, want 4", deletions)
	}
	if !strings.Contains(contested, "ValidatingWebhookConfiguration stale: another client creates it again each time the manager deletes it") {
		t.Errorf("the condition is %q", contested)
	}
}

// A registration that the manager created itself does not count as recreated by another client.
func TestDeletionOfOwnRegistration(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	live := c.validating("manager")
	for uid, want := range map[types.UID]bool{live.UID: false, "another": true} {
		deleted := live.DeepCopy()
		deleted.UID = uid
		step, ok := c.Observed.unlessContested(Step{Verb: Delete, Object: deleted, Live: deleted}, c.now)
		if got := step.Repairs(c.Previous, nil); got != want || !ok {
			t.Errorf("uid %s: counts %t, want %t; allowed %t", uid, got, want, ok)
		}
	}
}
