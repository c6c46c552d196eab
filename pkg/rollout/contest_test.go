package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// repairsByAllClients is the number of repairs that begin a contest if each client undoes fewer than its limit.
const repairsByAllClients = 30

func adversary(c *cluster) {
	live := c.validating("manager")
	live.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
	live.ManagedFields = []metav1.ManagedFieldsEntry{wrote("adversary", `{"f:webhooks":{"k:{\"name\":\"v.manager.example.com\"}":{"f:failurePolicy":{}}}}`)}
}

func (c *cluster) reconcileContest() Plan {
	previous := c.Previous
	plan := c.reconcile()
	for _, step := range plan.Steps {
		if step.IsRepair(previous, c.Observed.Contests) {
			c.Observed.Contests[step.Key()] = c.Observed.Contests[step.Key()].Repaired(step.Drift, c.now)
		}
	}
	return plan
}

// Repairs are limited, too, if a client uses another field manager each time.
func TestContestUnderManyNames(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	repairs := 0
	for i := range 100 {
		live := c.validating("manager")
		live.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
		live.ManagedFields = []metav1.ManagedFieldsEntry{wrote(fmt.Sprint("client-", i), `{"f:webhooks":{"k:{\"name\":\"v.manager.example.com\"}":{"f:failurePolicy":{}}}}`)}
		repairs += len(c.reconcileContest().Steps)
		c.wait(time.Second)
	}
	installtest.Same(t, "repairs", repairsByAllClients+1, repairs)
}

// If another client reverts each repair at once, the manager repairs three times in a minute, then
// once after each pause. The pause doubles up to ten minutes. After twice the pause without a
// change, the manager repairs at once again.
func TestContestTimeline(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	began := c.now
	for _, moment := range []struct {
		at          time.Duration
		wantRepair  bool
		wantRequeue time.Duration // after the beginning; 0 for none
	}{
		{at: 0, wantRepair: true},
		{at: time.Second, wantRepair: true},
		{at: 2 * time.Second, wantRepair: true},
		{at: 3 * time.Second, wantRequeue: 62 * time.Second},
		{at: 61 * time.Second, wantRequeue: 62 * time.Second},
		{at: 62 * time.Second, wantRepair: true},
		{at: 63 * time.Second, wantRequeue: 182 * time.Second},
		{at: 181 * time.Second, wantRequeue: 182 * time.Second},
		{at: 182 * time.Second, wantRepair: true},
		{at: 183 * time.Second, wantRequeue: 422 * time.Second},
		{at: 422 * time.Second, wantRepair: true},
		{at: 423 * time.Second, wantRequeue: 902 * time.Second},
		{at: 902 * time.Second, wantRepair: true},
		{at: 903 * time.Second, wantRequeue: 1502 * time.Second},
		{at: 1502 * time.Second, wantRepair: true},
		{at: 1503 * time.Second, wantRequeue: 2102 * time.Second},
		{at: 2102 * time.Second, wantRepair: true},
		// No change for twice ten minutes, then the changes continue.
		{at: 3302 * time.Second, wantRepair: true},
		{at: 3303 * time.Second, wantRepair: true},
		{at: 3304 * time.Second, wantRepair: true},
		{at: 3305 * time.Second, wantRequeue: 3364 * time.Second},
	} {
		c.now = began.Add(moment.at)
		adversary(c)
		plan := c.reconcileContest()
		installtest.Same(t, fmt.Sprintf("at %s, it repairs", moment.at), moment.wantRepair, len(plan.Steps) > 0)
		contested := conditionOf(plan, "Contested")
		if moment.wantRequeue == 0 {
			continue
		}
		want := `Contested: ValidatingWebhookConfiguration ` + c.validating("manager").Name +
			`: field manager "adversary" keeps changing webhooks[name="v.manager.example.com"].failurePolicy back; the manager repairs it again at ` +
			began.Add(moment.wantRequeue).Format(time.RFC3339) + `. Stop that client, or delete the ClusterServiceVersion`
		installtest.Same(t, fmt.Sprintf("at %s, the condition", moment.at), want, contested)
		installtest.Same(t, fmt.Sprintf("at %s, the requeue", moment.at), began.Add(moment.wantRequeue), plan.Requeue.At)
		installtest.Same(t, fmt.Sprintf("at %s, webhooks", moment.at), []string{"v.manager.example.com Registered Serving: "}, webhooksOf(plan))
	}
}

// While another client reverts other fields, the trust in the next certificate is written at once: pods may be given it
// before the pause ends. A caBundle that the client reverts is not written more often than other fields.
func TestTrustOfAContestedRegistration(t *testing.T) {
	for name, test := range map[string]struct {
		adversary func(*cluster)
		want      []string
	}{
		"failurePolicy": {adversary, []string{"update ValidatingWebhookConfiguration v.manager.example.com: webhooks.clientConfig.caBundle"}},
		"caBundle": {func(c *cluster) {
			live := c.validating("manager")
			live.Webhooks[0].ClientConfig.CABundle = []byte("another")
			live.ManagedFields = []metav1.ManagedFieldsEntry{wrote("adversary", `{"f:webhooks":{"k:{\"name\":\"v.manager.example.com\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`)}
		}, nil},
		"the Service": {func(c *cluster) {
			live := c.validating("manager")
			live.Webhooks[0].ClientConfig.Service.Name = "another"
			live.ManagedFields = []metav1.ManagedFieldsEntry{wrote("adversary", `{"f:webhooks":{"k:{\"name\":\"v.manager.example.com\"}":{"f:clientConfig":{"f:service":{"f:name":{}}}}}}`)}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			for range 3 {
				test.adversary(c)
				c.reconcileContest()
				c.wait(time.Second)
			}
			test.adversary(c)
			installtest.Same(t, "steps", []string(nil), stepsOf(c.reconcileContest()))
			c.trust = render.Trust{CABundle: []byte("ca and the next"), CAHash: "hash-of-ca", Generation: 2}
			installtest.Same(t, "steps with another CA", test.want, stepsOf(c.reconcileContest()))
			installtest.Same(t, "steps after that", []string(nil), stepsOf(c.reconcileContest()))
			c.wait(2 * time.Minute)
			installtest.Same(t, "it repairs after the pause", true, len(c.reconcileContest().Steps) > 0)
			installtest.Same(t, "the caBundle", "ca and the next", string(c.validating("manager").Webhooks[0].ClientConfig.CABundle))
		})
	}
}

// A trust that alone is written, because the description changed, is contested like a whole registration.
func TestContestOfTheTrustAlone(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	desired := c.validating("manager").DeepCopy()
	writes := 0
	for range 100 {
		live := c.validating("manager")
		live.Webhooks[0].ClientConfig.CABundle = []byte("another")
		live.ManagedFields = []metav1.ManagedFieldsEntry{wrote("cainjector", `{"f:webhooks":{"k:{\"name\":\"v.manager.example.com\"}":{"f:clientConfig":{"f:caBundle":{}}}}}`)}
		p := newPlanner(c.Input, c.now)
		p.plan.ensureTrust(desired, live)
		for _, step := range p.plan.Steps {
			c.carryOut(step)
			if step.IsRepair(c.Previous, c.Observed.Contests) {
				c.Observed.Contests[step.Key()] = c.Observed.Contests[step.Key()].Repaired(step.Drift, c.now)
			}
		}
		writes += len(p.plan.Steps)
		c.wait(100 * time.Millisecond)
	}
	installtest.Same(t, "writes in 10 s", 3, writes)
}

// The condition is removed when the other client stops.
func TestContestEnds(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	for range 3 {
		adversary(c)
		c.reconcileContest()
		c.wait(time.Second)
	}
	plan := c.reconcileContest()
	if conditionOf(plan, "Contested") == "" {
		t.Fatal("not contested after three repairs")
	}
	c.now = plan.Requeue.At
	if plan = c.reconcileContest(); !strings.Contains(conditionOf(plan, "Contested"), "; this message is removed at "+plan.Requeue.At.UTC().Format(time.RFC3339)) || len(plan.Steps) > 0 {
		t.Errorf("at the end of the pause, with nothing to repair: steps %q, condition %q", stepsOf(plan), conditionOf(plan, "Contested"))
	}
	c.now = plan.Requeue.At
	if plan = c.reconcileContest(); conditionOf(plan, "Contested") != "" || !plan.Requeue.At.IsZero() {
		t.Errorf("after twice the pause the condition is %q, the requeue at %s", conditionOf(plan, "Contested"), plan.Requeue.At)
	}
}

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
		deletions += installtest.Count(plan.Steps, deletes)
		contested = conditionOf(plan, "Contested")
		c.wait(time.Second)
	}
	installtest.Same(t, "deletions in 100 seconds", 4, deletions)
	const why = "ValidatingWebhookConfiguration stale: another client creates it again each time the manager deletes it"
	installtest.Says(t, "the condition", why, contested)
}

// A registration that the manager created itself does not count as recreated by another client.
func TestDeletionOfOwnRegistration(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	live := c.validating("manager")
	for uid, want := range map[types.UID]bool{live.UID: false, "another": true} {
		deleted := live.DeepCopy()
		deleted.UID = uid
		step, ok := c.Observed.unlessContested(Step{Verb: Delete, Object: deleted, Live: deleted}, c.now)
		if got := step.IsRepair(c.Previous, nil); got != want || !ok {
			t.Errorf("uid %s: counts %t, want %t; allowed %t", uid, got, want, ok)
		}
	}
}
