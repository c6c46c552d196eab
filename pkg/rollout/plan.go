package rollout

import (
	"slices"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// Plan is what to do now, and what to say about it.
type Plan struct {
	// Steps are the writes, in their order: a step may rely on those before it.
	Steps []Step
	// Probes are the endpoints whose answers the next decision needs.
	Probes []backends.Endpoint
	// Count are the CustomResourceDefinitions of which the next decision needs to know
	// whether they have objects.
	Count []string
	// Status is what the WebhookRollout says.
	Status managerv1alpha1.WebhookRolloutStatus
	// Phases are the transitions of the ClusterServiceVersion, in their order.
	Phases []phase.Phase
	// NextLook is when the answer may change by itself. Zero: only when something changes.
	NextLook time.Time
}

// Next is the decision. Without a scope, or with mistakes or unmet requirements in
// the ClusterServiceVersion, nothing is begun: what is live stays as it is, and is looked
// after while a requirement is not met; its certificates always are. Only an operator that must yield to another is
// taken out of service.
func Next(in Input, now time.Time) Plan {
	p := planner{Input: in, now: now, rolledOut: map[string]bool{}}
	if in.Leaving {
		p.leave()
		return p.plan
	}
	p.unregistered = p.lastUnregistered()
	p.unregisterReserved()
	switch {
	case p.mustYield():
		p.withdraw()
		p.hold()
	case in.Failure == nil && in.Verdict.Passes() && p.mayBegin():
		if p.plan.Count = in.uncounted(); len(p.plan.Count) > 0 {
			return p.plan
		}
		p.install()
	case in.Keeps():
		p.keepUp()
		p.hold()
	case in.KeepsTrust():
		p.keepTrust()
		p.hold()
	default:
		p.hold()
	}
	p.report()
	return p.plan
}

// planner carries one decision from Deployment to Deployment.
type planner struct {
	Input
	now         time.Time
	plan        Plan
	deployments []deploymentView
	relaxed     string // why the order of the Deployments was given up; empty when it was not
	reinstall   bool   // a Deployment that exists is being changed
	inUse       string // conversions that are not declared any more and cannot end yet
	forbidden   string // why this version must not take over from an older one

	kept map[csvspec.Identity]webhookView // those that somebody took away while a requirement is not met

	heldPorts map[portKey]heldPort // the ports of Services that do not lead yet where they are to (see keepPorts)

	previous map[csvspec.Identity]*managerv1alpha1.WebhookStatus // what Previous reports (see before)

	rolledOut map[string]bool // the Deployments that this plan brings to what is desired

	compares bool     // whether the objects are compared with what is desired
	admitted []string // what admission changed, in a sentence for each object

	unregistered time.Time // when the upgrade last took a webhook out of service
}

// deploymentView is what a Deployment came to.
type deploymentView struct {
	name     string
	progress workload.Progress
	webhooks []webhookView
}

// webhookView is what a webhook came to.
type webhookView struct {
	render.Webhook
	configuration string
	state         managerv1alpha1.WebhookState
	reason        string
	message       string
	registered    time.Time // when it was first registered; zero while it is not
	moving        string    // why it is not called yet where it is to be; empty when it is
	gap           *managerv1alpha1.ConversionGap
}

func (w webhookView) live() bool { return !w.registered.IsZero() }

// lacks tells whether a webhook that should be live is not, or an APIService not available.
func (w webhookView) lacks() bool {
	if registration.IsAPIService(w.Webhook) {
		return w.state != managerv1alpha1.WebhookRegistered
	}
	return !w.live() && w.state != managerv1alpha1.WebhookDisabled
}

// install walks the Deployments in their order. Each one's webhooks go live before
// the next Deployment starts, unless it takes too long.
func (p *planner) install() {
	p.compares = true
	p.keepPorts("")
	if len(p.Upgrade.From) > 0 {
		p.unregisterStale()
		p.unconvertStale()
	}
	p.tell(p.Issuance...)
	blocker := ""
	for i, d := range p.Desired.Deployments {
		if blocker != "" {
			p.postpone(d, blocker)
			continue
		}
		view := p.rollOut(d)
		p.deployments = append(p.deployments, view)
		if waits := view.waitsFor(); waits != "" && !p.relax(view, waits, p.Desired.Deployments[i+1:]) {
			blocker = view.name
		}
	}
	p.wantCondition()
	if len(p.Upgrade.From) == 0 {
		p.unregisterStale()
		p.unconvertStale()
		p.undelegateStale()
	}
	p.maintain()
	p.removeStale()
	for _, pod := range p.Nudges {
		p.take(Step{Verb: Nudge, Object: pod, Live: pod})
	}
}

// rollOut writes what one Deployment and its webhooks need, and looks how far they are.
func (p *planner) rollOut(d render.Deployment) deploymentView {
	name := d.Object.Name
	if p.clear(d) && p.startsAnew(p.Observed.Deployments[name]) {
		return p.keepUntilCleared(d)
	}
	p.rolledOut[name] = true
	if d.Service != nil {
		p.want(d.Service, lookUp(p.Observed.Services, d.Service.Name))
		p.want(d.Role, lookUp(p.Observed.Roles, d.Role.Name))
		p.want(d.RoleBinding, lookUp(p.Observed.RoleBindings, d.RoleBinding.Name))
		p.wantDelegation(d)
		p.writeSecret(name)
	}
	view := deploymentView{name: name, progress: p.progressOf(d)}
	live := lookUp(p.Observed.Deployments, name)
	if p.want(d.Object, live) && live != nil {
		p.reinstall = true
		view.progress = view.progress.Outdated(name)
	}
	for _, w := range d.Webhooks {
		view.webhooks = append(view.webhooks, p.register(d, w, view.progress))
	}
	return view
}

func (p *planner) progressOf(d render.Deployment) workload.Progress {
	progress := workload.ProgressOf(p.Observed.Deployments[d.Object.Name], p.Observed.Pods[d.Object.Name])
	if reason, message := p.refusal(d); reason != "" {
		progress.State, progress.Reason, progress.Message = managerv1alpha1.DeploymentPending, reason, message
	}
	return progress
}

// postpone leaves a Deployment that does not exist yet to a later pass. One that
// exists is looked after all the same, unless it is still as an older version has it.
func (p *planner) postpone(d render.Deployment, blocker string) {
	if !p.startsAnew(p.Observed.Deployments[d.Object.Name]) {
		p.deployments = append(p.deployments, p.rollOut(d))
		return
	}
	p.deployments = append(p.deployments, p.notYet(d, "EarlierDeployment", "starts after deployment "+blocker+" and its webhooks"))
}

// keepUntilCleared leaves a Deployment as an older version has it until no API server
// calls a webhook any more that it would not serve.
func (p *planner) keepUntilCleared(d render.Deployment) deploymentView {
	return p.notYet(d, "Clearing", "starts when every API server knows that webhooks are taken out of service, which it serves in another way than the version before")
}

// notYet is a Deployment that this version has not started. Webhooks that an older one
// registered stay in service, and are looked after.
func (p *planner) notYet(d render.Deployment, reason, message string) deploymentView {
	view := deploymentView{name: d.Object.Name, progress: workload.Progress{State: managerv1alpha1.DeploymentPending, Reason: reason, Message: message}}
	for _, w := range d.Webhooks {
		if w.Description.Type != operatorsv1alpha1.ConversionWebhook && p.registered(w) == nil {
			view.webhooks = append(view.webhooks, waiting(w, reason, message))
			continue
		}
		view.webhooks = append(view.webhooks, p.register(d, w, view.progress))
	}
	if live := p.Observed.Deployments[d.Object.Name]; live != nil && slices.ContainsFunc(d.Webhooks, func(w render.Webhook) bool { return p.liveOf(w) != nil }) {
		p.keepCertificate(d, live)
	}
	return view
}

// want puts the write that makes an object as desired into the plan, if there is
// one to do.
func (p *planner) want(desired, live drift.Object) bool {
	step, ok := stepTo(p.sharing(desired, live), live, p.Observed, p.now)
	if !ok && step.Verb == "" && !step.Drift.None() {
		p.admitted = append(p.admitted, drift.AdmissionMessage(step.Key(), step.Drift))
	}
	return ok && p.take(step)
}

// tell puts what issuers and operators are told into the plan, but for what admission has made otherwise of it.
func (p *planner) tell(steps ...Step) {
	for _, step := range steps {
		if step.Desired != nil && step.Live != nil && p.Observed.Writes[step.Key()].Accepts(step.Desired, step.Live, drift.Compare(step.Desired, step.Live)) {
			p.admitted = append(p.admitted, drift.AdmissionMessage(step.Key(), step.Drift))
			continue
		}
		p.take(step)
	}
}

// repeatPause is when to look what became of a write that was done before.
const repeatPause = time.Second

// take puts a step into the plan, unless the API server has refused it in this pass, it
// would register what no operator may serve, or another client holds the object.
func (p *planner) take(step Step) bool {
	if p.Observed.Refused[step.Key()] != "" || step.Verb != Delete && p.Observed.reserves(step.Object) || p.Observed.occupies(step) {
		return false
	}
	if step.Desired != nil {
		var ok bool
		if step, ok = p.Observed.unlessHeld(step, p.now); !ok {
			return false
		}
		if step.Repeated {
			p.lookAgain(p.now.Add(repeatPause)) // a write that admission undoes again changes nothing, which nobody announces
		}
	}
	p.plan.Steps = append(p.plan.Steps, step)
	return true
}

// lookAgain asks for another pass at an instant; the earliest wins.
func (p *planner) lookAgain(at time.Time) {
	if at.IsZero() || !at.After(p.now) {
		return
	}
	if p.plan.NextLook.IsZero() || at.Before(p.plan.NextLook) {
		p.plan.NextLook = at
	}
}
