package rollout

import (
	"maps"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// limitEvictions sets the annotation about budgets in the Subscription's config; empty removes it.
func (c *cluster) limitEvictions(limit string) {
	c.Config = subscriptions.Config{Subscription: "shop"}
	if limit != "" {
		c.Config.SubscriptionConfig = operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{wellknown.AnnotationAvailabilityBudget: limit}}
	}
}

// withReplicas returns an operator that succeeded, with that number of replicas.
func withReplicas(t *testing.T, replicas int32) *cluster {
	c := installed(t, webhookOf("manager"))
	c.scale("manager", replicas)
	c.limitEvictions("minAvailable=1")
	return c
}

func (c *cluster) scale(deployment string, replicas int32) {
	d := c.Observed.Deployments[deployment].DeepCopy()
	d.Spec.Replicas = &replicas
	c.Observed.Deployments[deployment] = d
}

func (c *cluster) expectBudget(when string, steps []string, refusal string) {
	c.t.Helper()
	plan := c.reconcile()
	installtest.Same(c.t, when+": steps", steps, stepsOf(plan))
	message := ""
	if refused := meta.FindStatusCondition(plan.Status.Conditions, "ConfigRefused"); refused != nil {
		message = refused.Message
	}
	if refusal == "" {
		installtest.Same(c.t, when+": the condition", "", message)
	} else {
		installtest.Contains(c.t, message, "availability-disruption-budget does not apply to Deployment manager, because ", refusal)
	}
}

var (
	createsBudget = []string{"create PodDisruptionBudget shop/manager-webhooks"}
	deletesBudget = []string{"delete PodDisruptionBudget shop/manager-webhooks"}
)

const oneReplica = "with spec.replicas 1 no pod could be evicted"

func otherBudget(name string, selected map[string]string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: selected}},
	}
}

// A budget exists only while a pod can be evicted. What kubectl scale makes impossible is removed, also while a requirement is
// not met, and returns.
func TestBudgetFollowsReplicas(t *testing.T) {
	c := withReplicas(t, 1)
	c.expectBudget("with one replica", nil, oneReplica)
	c.scale("manager", 2)
	c.expectBudget("with two replicas", createsBudget, "")
	c.expectBudget("afterwards", nil, "")
	c.scale("manager", 1)
	c.expectBudget("scaled to one replica", deletesBudget, oneReplica)
	c.scale("manager", 2)
	c.expectBudget("scaled back", createsBudget, "")

	obstacles["a requirement"].put(c)
	c.expectBudget("a requirement is not met", nil, "")
	c.scale("manager", 1)
	c.expectBudget("scaled while a requirement is not met", deletesBudget, oneReplica)
	c.scale("manager", 2)
	c.expectBudget("scaled back while a requirement is not met", nil, "")
}

func TestBudgetIsRemovedWithTheAnnotation(t *testing.T) {
	c := withReplicas(t, 2)
	c.expectBudget("created", createsBudget, "")
	c.limitEvictions("maxUnavailable=50%")
	c.reconcile()
	limit := c.Observed.Budgets["manager-webhooks"].Spec
	installtest.Same(t, "the limits", true, limit.MinAvailable == nil && *limit.MaxUnavailable == intstr.FromString("50%"))
	c.limitEvictions("")
	c.expectBudget("without the annotation", deletesBudget, "")
}

// Pods never have two budgets: another client's wins, also if it is created later, under any name.
func TestBudgetOfAnotherClient(t *testing.T) {
	c := withReplicas(t, 2)
	pods := c.Observed.Deployments["manager"].Spec.Template.Labels
	c.Observed.OtherBudgets = []*policyv1.PodDisruptionBudget{otherBudget("other", pods)}
	c.expectBudget("another exists", nil, "PodDisruptionBudget other selects its pods")
	c.Observed.OtherBudgets = []*policyv1.PodDisruptionBudget{otherBudget("other", map[string]string{"app": "other"})}
	c.expectBudget("another one for other pods", createsBudget, "")
	c.Observed.OtherBudgets = []*policyv1.PodDisruptionBudget{otherBudget("other", pods)}
	c.expectBudget("another is created", deletesBudget, "PodDisruptionBudget other selects its pods")
	c.Observed.OtherBudgets = []*policyv1.PodDisruptionBudget{otherBudget("manager-webhooks", map[string]string{"app": "other"})}
	c.expectBudget("another one has the name", nil, "PodDisruptionBudget manager-webhooks is not the manager's")
	c.Observed.OtherBudgets = []*policyv1.PodDisruptionBudget{otherBudget("manager-webhooks", pods)}
	c.expectBudget("another one with the name selects the pods", nil, "is not the manager's")
}

// Until the other budgets are read, no budget is created, and none is deleted. No event reports that there are none.
func TestBudgetWaitsForTheOthers(t *testing.T) {
	c := withReplicas(t, 2)
	c.Observed.OtherBudgetsUnknown = true
	installtest.Same(t, "the requeue", c.now.Add(time.Second), c.next().Requeue.At)
	c.expectBudget("unknown", nil, "")
	c.Observed.OtherBudgetsUnknown = false
	c.expectBudget("known", createsBudget, "")
	c.Observed.OtherBudgetsUnknown = true
	c.expectBudget("unknown again", nil, "")
}

// The pods of two Deployments with one selector have one budget, that of the first.
func TestBudgetsOfOverlappingDeployments(t *testing.T) {
	c := installed(t, webhookOf("manager"), webhookOf("second"))
	for _, name := range []string{"manager", "second"} {
		c.scale(name, 2)
		d := c.Observed.Deployments[name]
		maps.Copy(d.Spec.Template.Labels, c.spec("manager").Spec.Template.Labels)
		c.spec(name).Spec.Selector = c.spec("manager").Spec.Selector
	}
	c.limitEvictions("maxUnavailable=1")
	plan := c.next()
	installtest.Same(t, "the number of budgets", 1, installtest.Count(plan.Steps, func(s Step) bool { return s.Kind() == "PodDisruptionBudget" }))
	installtest.Contains(t, meta.FindStatusCondition(plan.Status.Conditions, "ConfigRefused").Message, "does not apply to Deployment second")
}

// While olm-operator's form is kept, nothing is added to it.
func TestNoBudgetWhileHeld(t *testing.T) {
	c := withReplicas(t, 2)
	c.expectBudget("managed", createsBudget, "")
	c.CSV.Labels = map[string]string{wellknown.LabelTakeover: wellknown.TakeoverGiveBack}
	c.expectBudget("given back", deletesBudget, "")
	c.CSV.Labels = nil
	c.expectBudget("managed again", createsBudget, "")
	c.CSV.Labels = map[string]string{wellknown.LabelTakeover: wellknown.TakeoverHeld}
	obstacles["a requirement"].put(c)
	c.expectBudget("held while a requirement is not met", deletesBudget, "")
}

func TestBudgetRefusedByTheAPIServer(t *testing.T) {
	c := withReplicas(t, 2)
	c.Observed.Refused["PodDisruptionBudget shop/manager-webhooks"] = "the API server refuses it"
	c.expectBudget("refused", nil, "the API server refuses it")
}

// A limit that the API server refuses to correct blocks no drain: the budget is deleted. Both requests are sent once in a reconciliation.
func TestBudgetThatCannotBeCorrected(t *testing.T) {
	const key = "PodDisruptionBudget shop/manager-webhooks"
	c := withReplicas(t, 2)
	c.expectBudget("created", createsBudget, "")
	c.limitEvictions("maxUnavailable=1")
	c.scale("manager", 1)
	c.Observed.Refused[key] = "the API server refuses to update it"
	installtest.Same(t, "the steps", deletesBudget, stepsOf(c.next()))
	c.Observed.Refused[key], c.Observed.Undeletable = "the API server refuses to delete it", map[string]bool{key: true}
	installtest.Same(t, "the steps after the deletion is refused, too", nil, stepsOf(c.next()))
}

// An upgrade stops at its first Deployment, whose image is bad. The second one continues to run as the previous version left it. Its
// budget is judged all the same.
func TestBudgetDuringAnUpgradeThatStops(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cluster)
		stays  bool
	}{
		"no change":                    {func(*cluster) {}, true},
		"kubectl scale to one replica": {func(c *cluster) { c.scale("second", 1) }, false},
		"another client's budget": {func(c *cluster) {
			c.Observed.OtherBudgets = []*policyv1.PodDisruptionBudget{otherBudget("other", c.Observed.Deployments["second"].Spec.Template.Labels)}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			older := installed(t, webhookOf("first"), webhookOf("second"))
			older.scale("first", 2)
			older.scale("second", 2)
			older.limitEvictions("minAvailable=1")
			older.reconcile()
			installtest.Same(t, "the budgets before the upgrade", 2, len(older.Observed.Budgets))

			c := older.upgradeTo(webhookOf("first", atPath("/v2")), webhookOf("second", atPath("/v2")))
			c.limitEvictions("minAvailable=1")
			for range 6 {
				c.reconcileLater()
				c.becomeUnavailable("first")
			}
			installtest.Same(t, "the upgrade has begun", true, c.Upgrade.Started)
			installtest.Same(t, "the second Deployment is the previous version's", true, c.Upgrade.olderOwner(c.Observed.Deployments["second"]) != nil)
			installtest.Same(t, "its budget exists", true, c.Observed.Budgets["second-webhooks"] != nil)
			test.change(c)
			for range 3 {
				c.reconcileLater()
				c.becomeUnavailable("first")
			}
			installtest.Same(t, "the budget exists", test.stays, c.Observed.Budgets["second-webhooks"] != nil)
		})
	}
}

// revertLimit lets another client give the budget a limit, and revert each repair, once a second.
func (c *cluster) revertLimit(limit intstr.IntOrString, times int, after func(Plan)) {
	for range times {
		if live := c.Observed.Budgets["manager-webhooks"]; live != nil {
			live = live.DeepCopy()
			live.Spec.MinAvailable = &limit
			live.ResourceVersion += "x"
			live.ManagedFields = []metav1.ManagedFieldsEntry{wrote("adversary", `{"f:spec":{"f:minAvailable":{}}}`)}
			c.Observed.Budgets["manager-webhooks"] = live
		}
		after(c.reconcileContest())
		c.wait(time.Second)
	}
}

// Another client gives the budget a limit that lets no pod be evicted, and reverts each repair. When the manager pauses its repairs,
// it deletes the budget. It creates it again after the pause.
func TestContestedLimitBlocksNoDrain(t *testing.T) {
	c := withReplicas(t, 2)
	c.reconcileContest()
	all, blocked, writes := intstr.FromString("100%"), 0, 0
	c.revertLimit(all, 600, func(plan Plan) {
		if live := c.Observed.Budgets["manager-webhooks"]; live != nil && *live.Spec.MinAvailable == all {
			blocked++
		}
		writes += len(plan.Steps)
	})
	installtest.Same(t, "reconciliations after which no pod could be evicted", 0, blocked)
	if writes > 20 {
		t.Errorf("%d writes in ten minutes", writes)
	}
	installtest.Contains(t, conditionOf(c.next(), "Contested"), `field manager "adversary" keeps changing spec.minAvailable back`)
}

// A contest about a limit that blocks no drain leaves the budget, and does not prevent its deletion.
func TestContestedBudgetIsDeleted(t *testing.T) {
	c := withReplicas(t, 2)
	c.reconcileContest()
	c.revertLimit(intstr.FromInt32(0), 10, func(Plan) {})
	installtest.Same(t, "the budget exists", true, c.Observed.Budgets["manager-webhooks"] != nil)
	c.scale("manager", 1)
	installtest.Same(t, "steps after kubectl scale", deletesBudget, stepsOf(c.reconcileContest()))
}

// A tenant creates and deletes a budget for the pods, each second. The manager deletes its own at once, creates it again after
// pauses, and reports the contest.
func TestBudgetsInALoop(t *testing.T) {
	c := withReplicas(t, 2)
	pods := c.Observed.Deployments["manager"].Spec.Template.Labels
	writes, together := 0, 0
	var plan Plan
	for i := range 600 {
		c.Observed.OtherBudgets = nil
		if i%2 == 1 {
			c.Observed.OtherBudgets = []*policyv1.PodDisruptionBudget{otherBudget("tenant", pods)}
		}
		plan = c.reconcileContest()
		writes += len(plan.Steps)
		if i == 59 {
			installtest.Same(t, "writes in the first minute: three creations and deletions", 6, writes)
		}
		if len(c.Observed.Budgets)+len(c.Observed.OtherBudgets) > 1 {
			together++
		}
		c.wait(time.Second)
	}
	if writes > 20 {
		t.Errorf("%d writes in ten minutes", writes)
	}
	installtest.Same(t, "reconciliations after which pods have two budgets", 0, together)
	installtest.Contains(t, conditionOf(plan, "Contested"), "PodDisruptionBudget shop/manager-webhooks: other clients keep creating and deleting PodDisruptionBudgets for its pods; the manager creates it again at ",
		"remove annotation olm-webhook-manager.io/availability-disruption-budget")
	c.Observed.OtherBudgets = nil
	c.wait(20 * time.Minute)
	c.reconcileContest()
	installtest.Same(t, "it exists after the contest", true, c.Observed.Budgets["manager-webhooks"] != nil)
}
