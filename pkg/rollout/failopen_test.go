package rollout

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

// reconcileOpenings reconciles until a plan has no steps and asks for nothing: it confirms, and remembers.
func (c *cluster) reconcileOpenings() {
	c.t.Helper()
	for range 10 {
		c.FailOpen.Recorded = []managerv1alpha1.WebhookRolloutStatus{*c.Previous.DeepCopy()}
		c.FailOpen.Confirmed = map[string]failopen.Answer{}
		if plan := c.next(); len(plan.Confirm) > 0 {
			c.FailOpen.Confirmed[plan.Confirm[0]] = failopen.Answer{Slices: c.Observed.Slices[plan.Confirm[0]], At: c.now}
		}
		plan := c.reconcile()
		c.FailOpen.Memories = map[csvspec.Identity]failopen.Memory{}
		for webhook, decision := range plan.FailOpen {
			c.FailOpen.Memories[webhook] = decision.Memory
		}
		if len(plan.Steps)+len(plan.Confirm) == 0 && plan.Requeue.At.Sub(c.now) != 200*time.Millisecond {
			return
		}
		c.wait(time.Second)
	}
	c.t.Fatal("the plans do not end")
}

// pass lets time pass, and reconciles every 10 seconds.
func (c *cluster) pass(d time.Duration) {
	c.t.Helper()
	for until := c.now.Add(d); c.now.Before(until); {
		c.wait(min(10*time.Second, until.Sub(c.now)))
		c.reconcileOpenings()
	}
}

func allowOpenings(c *cluster) {
	c.Config.Subscription = "shop"
	c.Config.Annotations = map[string]string{
		wellknown.AnnotationFailOpenAfter: "1m", wellknown.AnnotationFailOpenAllAfter: "1h", wellknown.AnnotationFailOpenFor: "5h",
	}
}

// lost returns a cluster whose webhook opens after a minute for some requests, and after an hour for all. Its backend is lost.
func lost(t *testing.T) *cluster {
	t.Helper()
	c := installed(t, webhookOf("manager", func(d *operatorsv1alpha1.WebhookDescription) { d.TimeoutSeconds = new(int32(7)) }))
	allowOpenings(c)
	c.reconcileOpenings()
	c.Observed.Slices = map[string][]*discoveryv1.EndpointSlice{}
	c.reconcileOpenings()
	return c
}

func opened(t *testing.T, after time.Duration) *cluster {
	t.Helper()
	c := lost(t)
	c.pass(after)
	return c
}

func (c *cluster) openState() managerv1alpha1.FailOpenState {
	return webhookconfig.OpenState(c.validating("manager"))
}

func (c *cluster) failOpen() *managerv1alpha1.FailOpen {
	return c.Previous.Deployments[0].Webhooks[0].FailOpen
}

func TestOpensAfterATime(t *testing.T) {
	c := opened(t, 30*time.Second)
	installtest.Same(t, "after 30s", managerv1alpha1.FailOpenClosed, c.openState())
	c = opened(t, time.Minute)
	installtest.Same(t, "after a minute", managerv1alpha1.FailOpenPartly, c.openState())
	live := c.validating("manager").Webhooks
	installtest.Same(t, "the number of webhooks", 2, len(live))
	installtest.Same(t, "failurePolicy", []admissionregistrationv1.FailurePolicyType{"Fail", "Ignore"}, []admissionregistrationv1.FailurePolicyType{*live[0].FailurePolicy, *live[1].FailurePolicy})
	installtest.Same(t, "the recorded requests", render.FirstRequests("shop", nil), c.failOpen().Openings[0].Requests)
	c.pass(time.Hour)
	installtest.Same(t, "after an hour", managerv1alpha1.FailOpenAll, c.openState())
	installtest.Same(t, "the number of webhooks for all", 1, len(c.validating("manager").Webhooks))
	c.wait(5 * time.Hour)
	c.reconcileOpenings()
	installtest.Same(t, "after five more hours", managerv1alpha1.FailOpenClosed, c.openState())
	installtest.Same(t, "the timeout", 7, *c.validating("manager").Webhooks[0].TimeoutSeconds)
	installtest.Same(t, "closed by", managerv1alpha1.ClosedTimeOver, c.failOpen().Openings[0].ClosedBy)
}

// With each gate, a webhook opens only if no endpoint is ready. A Deployment that lacks one of its replicas is not available, and
// another pod of it serves.
func TestReadyEndpointOpensNothing(t *testing.T) {
	for name, test := range map[string]struct {
		gate   Gate
		change func(*cluster)
		state  managerv1alpha1.FailOpenState
	}{
		"serving, no endpoint is ready":   {GateServing, func(c *cluster) { c.serve("manager") }, managerv1alpha1.FailOpenPartly},
		"serving, an endpoint is ready":   {GateServing, func(c *cluster) { c.serve("manager", "10.0.0.1") }, managerv1alpha1.FailOpenClosed},
		"available, no endpoint is ready": {GateAvailable, func(c *cluster) { c.serve("manager") }, managerv1alpha1.FailOpenPartly},
		"available, an endpoint is ready": {GateAvailable, func(c *cluster) { c.serve("manager", "10.0.0.1") }, managerv1alpha1.FailOpenClosed},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			c.Policy.Gate, c.answer = test.gate, refuses
			c.Config.Subscription = "shop"
			c.Config.Annotations = map[string]string{wellknown.AnnotationFailOpenAfter: "1m"}
			c.reconcileOpenings()
			c.becomeUnavailable("manager")
			for range 3 {
				test.change(c)
				c.pass(time.Minute)
			}
			installtest.Same(t, "the configuration", test.state, c.openState())
		})
	}
}

// The answer of the API server counts, if the caches show fewer endpoints, or no Service.
func TestConfirmedEndpoints(t *testing.T) {
	for name, test := range map[string]struct {
		gate      Gate
		noService bool
		ready     []string
		state     managerv1alpha1.FailOpenState
	}{
		"no endpoint is ready":                        {GateServing, false, nil, managerv1alpha1.FailOpenPartly},
		"an endpoint is ready":                        {GateServing, false, []string{"10.0.0.1"}, managerv1alpha1.FailOpenClosed},
		"available: no endpoint is ready":             {GateAvailable, false, nil, managerv1alpha1.FailOpenPartly},
		"available: an endpoint is ready":             {GateAvailable, false, []string{"10.0.0.1"}, managerv1alpha1.FailOpenClosed},
		"without the Service: no endpoint is ready":   {GateServing, true, nil, managerv1alpha1.FailOpenPartly},
		"without the Service: an endpoint is ready":   {GateServing, true, []string{"10.0.0.1"}, managerv1alpha1.FailOpenClosed},
		"available, without it: no endpoint is ready": {GateAvailable, true, nil, managerv1alpha1.FailOpenPartly},
		"available, without it: an endpoint is ready": {GateAvailable, true, []string{"10.0.0.1"}, managerv1alpha1.FailOpenClosed},
	} {
		t.Run(name, func(t *testing.T) {
			c := lost(t)
			c.Policy.Gate = test.gate
			c.becomeUnavailable("manager")
			c.pass(50 * time.Second)
			answer := c.slicesWith("manager", test.ready...)
			if test.noService {
				delete(c.Observed.Services, "manager-service")
			}
			c.wait(10 * time.Second)
			c.FailOpen.Confirmed = map[string]failopen.Answer{}
			installtest.Same(t, "asks", []string{"manager-service"}, c.next().Confirm)
			c.FailOpen.Confirmed["manager-service"] = failopen.Answer{Slices: answer, At: c.now}
			plan := c.next()
			installtest.Same(t, "asks again", nil, plan.Confirm)
			installtest.Same(t, "the recorded state", test.state, plan.FailOpen[csvspec.IdentityOf(c.CSV.Spec.WebhookDefinitions[0])].Record.State)
		})
	}
}

func TestOpenUntilItServes(t *testing.T) {
	c := opened(t, time.Minute)
	c.answer = refuses
	c.serve("manager", "10.0.0.1")
	c.reconcileOpenings()
	installtest.Same(t, "while the endpoint refuses", managerv1alpha1.FailOpenPartly, c.openState())
	c.answer = serves
	c.wait(time.Minute)
	c.reconcileOpenings()
	installtest.Same(t, "when it serves", managerv1alpha1.FailOpenClosed, c.openState())
	installtest.Same(t, "closed by", managerv1alpha1.ClosedServed, c.failOpen().Openings[0].ClosedBy)
}

// The manager cannot dial the pods, as with a NetworkPolicy, and API servers can. Then the endpoints are lost for a moment.
func TestEndpointsThatCannotBeDialledOpenNothing(t *testing.T) {
	c := lost(t)
	c.answer = refuses
	c.serve("manager", "10.0.0.1")
	c.reconcileOpenings()
	for range 24 {
		c.wait(time.Hour)
		c.reconcileOpenings()
	}
	installtest.Same(t, "while an endpoint is ready", managerv1alpha1.FailOpenClosed, c.openState())
	c.Observed.Slices = map[string][]*discoveryv1.EndpointSlice{}
	c.reconcileOpenings()
	installtest.Same(t, "one moment later", managerv1alpha1.FailOpenClosed, c.openState())
	c.pass(time.Minute)
	installtest.Same(t, "after a minute without endpoints", managerv1alpha1.FailOpenPartly, c.openState())
}

// What the manager maintains stays open or is closed, and never is more open than before.
func TestOpenAndMaintained(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cluster)
		state  managerv1alpha1.FailOpenState
		by     managerv1alpha1.ClosedBy
	}{
		"a requirement is not met":  {obstacles["a requirement"].put, managerv1alpha1.FailOpenPartly, ""},
		"no scope":                  {obstacles["no scope"].put, managerv1alpha1.FailOpenClosed, managerv1alpha1.ClosedWithdrawn},
		"an invalid description":    {obstacles["an invalid description"].put, managerv1alpha1.FailOpenClosed, managerv1alpha1.ClosedWithdrawn},
		"the deletion waits":        {func(c *cluster) { c.DeletionBlocked = true }, managerv1alpha1.FailOpenClosed, managerv1alpha1.ClosedWithdrawn},
		"the annotations are wrong": {func(c *cluster) { c.Config.Annotations[wellknown.AnnotationFailOpenFor] = "x" }, managerv1alpha1.FailOpenClosed, managerv1alpha1.ClosedWithdrawn},
		"the author changes it": {func(c *cluster) {
			c.CSV = c.CSV.DeepCopy()
			c.CSV.Spec.WebhookDefinitions[0].TimeoutSeconds = new(int32(8))
		}, managerv1alpha1.FailOpenClosed, managerv1alpha1.ClosedChanged},
		"no scope, and no Deployment": {func(c *cluster) {
			obstacles["no scope"].put(c)
			delete(c.Observed.Deployments, "manager")
		}, managerv1alpha1.FailOpenClosed, managerv1alpha1.ClosedWithdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, time.Minute)
			test.change(c)
			c.reconcileOpenings()
			installtest.Same(t, "the configuration", test.state, c.openState())
			installtest.Same(t, "closed by", test.by, c.failOpen().Openings[0].ClosedBy)
		})
	}
}

// A successor that must not start yet writes nothing: the webhooks belong to the previous version. Its deletion changes nothing, either.
func TestWaitingUpgradeKeepsTheOpening(t *testing.T) {
	for name, change := range map[string]func(*cluster){
		"not upgradeable":           func(c *cluster) { c.Upgrade.NotUpgradeable = "busy" },
		"not ready":                 func(c *cluster) { c.Upgrade.NotReady = "not ready" },
		"no scope":                  obstacles["no scope"].put,
		"an invalid description":    obstacles["an invalid description"].put,
		"a requirement is not met":  obstacles["a requirement"].put,
		"another version claims it": func(c *cluster) { c.Verdict = requirements.Verdict{Conflict: "shop.v3 claims its Deployments"} },
		"another selector":          func(c *cluster) { c.spec("manager").Spec.Selector.MatchLabels = map[string]string{"app": "other"} },
		"the deletion waits":        func(c *cluster) { c.DeletionBlocked = true },
	} {
		t.Run(name, func(t *testing.T) {
			older := opened(t, time.Minute)
			next := older.upgradeTo(webhookOf("manager", func(d *operatorsv1alpha1.WebhookDescription) { d.TimeoutSeconds = new(int32(7)) }))
			next.Config = older.Config
			next.FailOpen = FailOpen{Recorded: []managerv1alpha1.WebhookRolloutStatus{{}, older.Previous}}
			change(next)
			for range 3 {
				next.wait(time.Second)
				installtest.Same(t, "writes of the successor", nil, stepsOf(next.reconcile()))
				installtest.Same(t, "the configuration", managerv1alpha1.FailOpenPartly, next.openState())
			}
		})
	}
}

// A rotation gives both webhooks the CA, and drift of one is repaired.
func TestOpenAndTrusted(t *testing.T) {
	c := opened(t, time.Minute)
	c.trust.CABundle, c.trust.Generation = []byte("two CAs"), 2
	c.reconcileOpenings()
	for _, w := range c.validating("manager").Webhooks {
		installtest.Same(t, "the caBundle of "+w.Name, "two CAs", string(w.ClientConfig.CABundle))
	}
	live := c.validating("manager").DeepCopy()
	live.Webhooks[1].MatchConditions = nil
	c.store(live)
	c.reconcileOpenings()
	installtest.Same(t, "the conditions", 1, len(c.validating("manager").Webhooks[1].MatchConditions))
	obstacles["no scope"].put(c)
	c.trust.CABundle, c.trust.Generation = []byte("three CAs"), 3
	c.reconcileOpenings()
	installtest.Same(t, "closed", managerv1alpha1.FailOpenClosed, c.openState())
	installtest.Same(t, "the caBundle when it is closed", "three CAs", string(c.validating("manager").Webhooks[0].ClientConfig.CABundle))
}

// The time was over, and no outage is recorded any more: the manager dials the endpoints until one proof, and then none.
func TestOpensAgainAfterAProof(t *testing.T) {
	c := opened(t, time.Minute)
	c.wait(6 * time.Hour)
	c.reconcileOpenings()
	installtest.Same(t, "closed by", managerv1alpha1.ClosedTimeOver, c.failOpen().Openings[0].ClosedBy)
	allowed := c.Config.Annotations
	c.Config.Annotations = nil
	c.serve("manager", "10.0.0.1")
	c.reconcileOpenings()
	c.Config.Annotations = allowed
	c.reconcileOpenings()
	installtest.Same(t, "an outage is recorded", false, c.failOpen().UnreachableSince != nil)
	c.wait(time.Minute)
	c.reconcileOpenings()
	installtest.Same(t, "a proof is recorded", true, c.failOpen().LastServedTime != nil)
	c.Observed.Answers = nil
	installtest.Same(t, "the number of probes afterwards", 0, len(c.next().Probes))
	c.wait(48 * time.Hour)
	c.Observed.Slices = map[string][]*discoveryv1.EndpointSlice{}
	c.reconcileOpenings()
	c.pass(time.Minute)
	installtest.Same(t, "in the next outage", managerv1alpha1.FailOpenPartly, c.openState())
}

// The WebhookRollout is deleted while the webhook is open, and the manager restarts.
func TestOpeningWithoutARecord(t *testing.T) {
	for name, change := range map[string]func(*cluster){
		"it may be installed":      func(*cluster) {},
		"a requirement is not met": obstacles["a requirement"].put,
		"no scope":                 obstacles["no scope"].put,
		"the deletion waits":       func(c *cluster) { c.DeletionBlocked = true },
	} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, time.Minute)
			live := c.validating("manager").DeepCopy()
			live.CreationTimestamp = metav1.NewTime(c.now.Add(-time.Hour))
			live.ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(metav1.NewTime(c.now.Add(-time.Minute)))}, {}}
			c.store(live)
			c.Previous.Deployments[0].Webhooks[0].FailOpen, c.FailOpen.Memories = nil, nil
			change(c)
			c.reconcileOpenings()
			installtest.Same(t, "the configuration", managerv1alpha1.FailOpenClosed, c.openState())
			installtest.Same(t, "the number of openings", 1, len(c.failOpen().Openings))
			o := c.failOpen().Openings[0]
			installtest.Same(t, "from", live.CreationTimestamp.Unix(), o.From.Unix())
			installtest.Same(t, "closed by", managerv1alpha1.ClosedChanged, o.ClosedBy)
			installtest.Same(t, "the recorded requests", render.FirstRequests("shop", nil), o.Requests)
		})
	}
}

// The last write counts, of any client.
func TestLastWrite(t *testing.T) {
	c := lost(t)
	live := c.validating("manager").DeepCopy()
	installtest.Same(t, "without fields", live.CreationTimestamp.Time, lastWrite(live))
	live.ManagedFields = []metav1.ManagedFieldsEntry{{Time: new(metav1.NewTime(noon.Add(5 * time.Hour)))}, {}, {Time: new(metav1.NewTime(noon.Add(3 * time.Hour)))}}
	installtest.Same(t, "with fields", noon.Add(5*time.Hour), lastWrite(live))
}

// A registration that stays as olm-operator made it is opened and closed, and stays so otherwise.
func TestOpenWhileHeld(t *testing.T) {
	c := lost(t)
	live := c.validating("manager").DeepCopy()
	live.Webhooks[0].MatchPolicy = new(admissionregistrationv1.Exact)
	c.store(live)
	c.adopted = true
	c.pass(time.Minute)
	installtest.Same(t, "the state", managerv1alpha1.FailOpenPartly, c.openState())
	for _, w := range c.validating("manager").Webhooks {
		installtest.Same(t, "matchPolicy", admissionregistrationv1.Exact, *w.MatchPolicy)
	}
	c.serve("manager", "10.0.0.1")
	c.reconcileOpenings()
	installtest.Same(t, "when it serves", live.Webhooks, c.validating("manager").Webhooks)
}

func TestConversionNeverOpens(t *testing.T) {
	c := lost(t)
	c.CSV = c.CSV.DeepCopy()
	c.CSV.Spec.WebhookDefinitions[0].Type = operatorsv1alpha1.ConversionWebhook
	installtest.Same(t, "webhooks that may open", 0, len(c.Config.FailOpen(c.CSV).ByWebhook))
}

// The openings of a replaced version stay in its status until its successor has recorded them.
func TestAwaitsOpenings(t *testing.T) {
	c := opened(t, time.Minute)
	recorded := &managerv1alpha1.WebhookRollout{Status: *c.Previous.DeepCopy()}
	other := c.CSV.DeepCopy()
	other.Spec.WebhookDefinitions[0].GenerateName = "other.example.com"
	without := recorded.DeepCopy()
	without.Status.Deployments[0].Webhooks[0].FailOpen = nil
	installtest.Same(t, "without a record", true, AwaitsOpenings(c.Previous, c.CSV, nil, c.now))
	installtest.Same(t, "without the openings", true, AwaitsOpenings(c.Previous, c.CSV, without, c.now))
	installtest.Same(t, "with the openings", false, AwaitsOpenings(c.Previous, c.CSV, recorded, c.now))
	installtest.Same(t, "of another webhook", false, AwaitsOpenings(c.Previous, other, nil, c.now))
	installtest.Same(t, "without openings", false, AwaitsOpenings(without.Status, c.CSV, nil, c.now))
	installtest.Same(t, "of a deleted successor", false, AwaitsOpenings(c.Previous, nil, nil, c.now))
}

// An opening needs the permission of the installer, as each change of a webhook does. Its end does not, unless it also changes
// something else.
func TestOpeningByInstaller(t *testing.T) {
	c := opened(t, time.Minute)
	open, shop := c.validating("manager"), types.NamespacedName{Namespace: "shop", Name: "shop.v1"}
	closed := open.DeepCopy()
	webhookconfig.Close(closed, new(admissionregistrationv1.Fail), new(int32(7)))
	edited := closed.DeepCopy()
	edited.Webhooks[0].Rules = nil
	installtest.Same(t, "an opening is by the installer", true, Step{Verb: Update, Object: open, Live: closed, Desired: open}.ByInstaller(shop))
	installtest.Same(t, "its end is by the installer", false, Step{Verb: Update, Object: closed, Live: open, Desired: closed}.ByInstaller(shop))
	installtest.Same(t, "its end with an edit is by the installer", true, Step{Verb: Update, Object: edited, Live: open, Desired: edited}.ByInstaller(shop))
}

// An upgrade inherits the openings, and so the time that they used. An unchanged webhook stays open.
func TestOpeningIsInherited(t *testing.T) {
	c := opened(t, time.Minute)
	replaced := *c.Previous.DeepCopy()
	c.Previous, c.FailOpen = managerv1alpha1.WebhookRolloutStatus{}, FailOpen{Recorded: []managerv1alpha1.WebhookRolloutStatus{{}, replaced}}
	decision := c.next().FailOpen[csvspec.IdentityOf(c.CSV.Spec.WebhookDefinitions[0])]
	installtest.Same(t, "the form", managerv1alpha1.FailOpenPartly, decision.Form)
	installtest.Same(t, "the openings", 1, len(decision.Record.Openings))
}

// API servers may pass requests until they have observed that the webhook is closed.
func TestRecordEndsWhenAPIServersHaveObservedTheClosing(t *testing.T) {
	for name, closes := range map[managerv1alpha1.ClosedBy]func(*cluster){
		managerv1alpha1.ClosedTimeOver:  func(c *cluster) { c.wait(6 * time.Hour) },
		managerv1alpha1.ClosedWithdrawn: func(c *cluster) { c.Config.Annotations = nil },
		managerv1alpha1.ClosedServed:    func(c *cluster) { c.serve("manager", "10.0.0.1") },
	} {
		t.Run(string(name), func(t *testing.T) {
			c := opened(t, time.Minute)
			c.Policy.Settle = 30 * time.Second
			c.pass(10 * time.Minute)
			closes(c)
			before := c.now
			c.reconcileOpenings()
			installtest.Same(t, "the configuration", managerv1alpha1.FailOpenClosed, c.openState())
			c.pass(2 * time.Minute)
			o := c.failOpen().Openings[0]
			installtest.Same(t, "closed by", name, o.ClosedBy)
			if late := o.Until.Sub(before); late < c.Policy.Settle {
				t.Errorf("the record ends %s after the cause; API servers may pass requests for %s after the closing", late, c.Policy.Settle)
			}
		})
	}
}

// An edit of the ClusterServiceVersion to what the API server refuses does not keep a webhook open.
func TestClosesWithValidValues(t *testing.T) {
	for name, test := range map[string]struct {
		edit        func(*operatorsv1alpha1.WebhookDescription)
		wantPolicy  admissionregistrationv1.FailurePolicyType
		wantTimeout int32
	}{
		"as declared": {func(d *operatorsv1alpha1.WebhookDescription) {
			d.FailurePolicy, d.TimeoutSeconds = new(admissionregistrationv1.Ignore), new(int32(30))
		}, admissionregistrationv1.Ignore, 30},
		"too long": {func(d *operatorsv1alpha1.WebhookDescription) { d.TimeoutSeconds = new(int32(31)) }, admissionregistrationv1.Fail, 10},
		"mistyped": {func(d *operatorsv1alpha1.WebhookDescription) {
			d.FailurePolicy, d.TimeoutSeconds = new(admissionregistrationv1.FailurePolicyType("fail")), new(int32(0))
		}, admissionregistrationv1.Fail, 10},
	} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, time.Minute)
			c.pass(10 * time.Minute)
			test.edit(&c.CSV.Spec.WebhookDefinitions[0])
			c.Config.Annotations = nil
			closing := c.next().Steps[0].Object.(*admissionregistrationv1.ValidatingWebhookConfiguration)
			installtest.Same(t, "webhooks", 1, len(closing.Webhooks))
			installtest.Same(t, "failurePolicy", test.wantPolicy, *closing.Webhooks[0].FailurePolicy)
			installtest.Same(t, "timeoutSeconds", test.wantTimeout, *closing.Webhooks[0].TimeoutSeconds)
		})
	}
}
