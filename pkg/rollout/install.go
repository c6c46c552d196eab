package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/disruption"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

type planner struct {
	*facts
	*outcome
	plan       *planBuilder
	ports      *ports
	registrar  *registrar
	maintainer *maintainer
	remover    *remover
	opener     *opener
}

type outcome struct {
	deployments     []deploymentView
	relaxed         string    // why the order of the Deployments was given up; empty if it was not
	reinstall       bool      // the spec of a Deployment that exists is being changed
	inUse           string    // undeclared conversions that cannot end yet
	upgradeObstacle string    // why this version must not replace a previous one
	compares        bool      // the live objects are compared with the desired ones
	unregistered    time.Time // when the upgrade last unregistered a webhook
	cannotOpen      []string  // why webhooks cannot be opened that the administrator lets open
	refusedBudgets  []string  // why pods have no PodDisruptionBudget that annotations ask for
}

func newPlanner(in Input, now time.Time) *planner {
	f := &facts{Input: in, now: now}
	p := &planner{facts: f, outcome: &outcome{unregistered: f.lastUnregistrationTime()}, plan: &planBuilder{facts: f, stays: map[string]string{}}}
	dialling := &probes{facts: f, plan: p.plan}
	p.ports = &ports{facts: f, probes: dialling, plan: p.plan}
	p.registrar = &registrar{facts: f, probes: dialling, ports: p.ports, plan: p.plan}
	p.opener = &opener{facts: f, outcome: p.outcome, registrar: p.registrar, plan: p.plan}
	p.maintainer = &maintainer{facts: f, ports: p.ports, opener: p.opener, registrar: p.registrar, plan: p.plan, rolledOut: map[string]bool{}}
	p.remover = &remover{facts: f, outcome: p.outcome, plan: p.plan}
	return p
}

// priorityClassPause is the pause before a PriorityClass that does not exist is read again.
const priorityClassPause = time.Minute

// The webhooks of each Deployment are registered before the next one starts, unless it takes too long.
func (p *planner) install() {
	p.compares = true
	if p.Config.UnusablePriorityClass != "" {
		p.plan.requeue(p.now.Add(priorityClassPause), "a PriorityClass that is not used") // no watch reports that it exists
	}
	p.ports.keepPorts("")
	p.opener.decide(true)
	if len(p.Upgrade.From) > 0 {
		p.remover.unregisterStale()
		p.remover.noteDeleted()
		p.remover.unconvertStale()
	}
	p.plan.addUnlessAccepted(p.Issuance...)
	blocker := ""
	for i, d := range p.Desired.Deployments {
		if blocker != "" {
			p.postpone(d, blocker)
			continue
		}
		view := p.rollOut(d)
		p.deployments = append(p.deployments, view)
		if waits := view.missingForNext(); waits != "" && !p.relax(view, waits, p.Desired.Deployments[i+1:]) {
			blocker = view.name
		}
	}
	p.plan.ensureOperatorCondition()
	if len(p.Upgrade.From) == 0 {
		p.remover.unregisterStale()
		p.remover.unconvertStale()
		p.remover.undelegateStale()
	}
	p.maintainer.maintain()
	p.limitEvictions(true)
	p.remover.removeStale()
	p.plan.resyncVolumes()
}

// rollOut also reverts changes of other clients: each reconciliation of a version that may be installed calls it.
func (p *planner) rollOut(d render.Deployment) deploymentView {
	name := d.Object.Name
	p.remover.unregisterChanged(d)
	if live := p.Observed.Deployments[name]; p.Upgrade.notStarted(live) && !p.Upgrade.lost(name, live) {
		if reason, message := p.remover.awaitUnregistered(d); reason != "" {
			return p.notStartedView(d, reason, message)
		}
	}
	if kept := p.maintainer.stillServing(d); kept != nil {
		d.Object = kept // The maintainer writes what else its webhooks need.
	} else {
		p.maintainer.rolledOut[name] = true
	}
	if d.Service != nil {
		p.plan.ensure(d.Service, lookUp(p.Observed.Services, d.Service.Name))
		p.plan.ensureGrant(d.Role, d.RoleBinding, p.plan.ensureAlways)
		p.plan.ensureDelegation(d)
		p.plan.writeSecret(name)
	}
	view := deploymentView{name: name, progress: p.progressOf(d)}
	if live := p.Observed.Deployments[name]; p.plan.changeDeployment(d.Object, live) && changesSpec(d.Object, live) {
		p.reinstall = true
		view.progress = view.progress.Outdated(name)
	}
	for _, w := range d.Webhooks {
		view.webhooks = append(view.webhooks, p.registrar.register(d, w, view.progress))
	}
	return view
}

// changesSpec reports whether a write changes more than the metadata of a Deployment: only then its pods may be replaced.
func changesSpec(desired, live *appsv1.Deployment) bool {
	found := drift.Of(drift.WithLiveReplicas(live, desired), live)
	return slices.ContainsFunc(found.Fields, func(field string) bool { return strings.HasPrefix(field, "spec.") })
}

// postpone delays a Deployment that this version has not started. Another one is maintained.
func (p *planner) postpone(d render.Deployment, blocker string) {
	if !p.Upgrade.notStarted(p.Observed.Deployments[d.Object.Name]) {
		p.deployments = append(p.deployments, p.rollOut(d))
		return
	}
	reason, message := p.remover.awaitEnd(d)
	if reason == "" {
		reason, message = managerv1alpha1.ReasonEarlierDeployment, "starts after deployment "+blocker+" and its webhooks"
	}
	p.deployments = append(p.deployments, p.notStartedView(d, reason, message))
}

// notStartedView keeps webhooks of the previous version. The certificate is written before they trust it, also
// without a Deployment: a CA that is not stored would be replaced in each reconciliation.
func (p *planner) notStartedView(d render.Deployment, reason, message string) deploymentView {
	view := deploymentView{name: d.Object.Name, progress: workload.Progress{State: managerv1alpha1.DeploymentPending, Reason: reason, Message: message}}
	if slices.ContainsFunc(d.Webhooks, func(w render.Webhook) bool { return p.liveOf(w) != nil }) {
		p.plan.ensureCertificate(d, p.Observed.Deployments[d.Object.Name])
	}
	for _, w := range d.Webhooks {
		if w.Description.Type != operatorsv1alpha1.ConversionWebhook && p.registered(w) == nil {
			view.webhooks = append(view.webhooks, waiting(w, reason, message))
			continue
		}
		view.webhooks = append(view.webhooks, p.registrar.register(d, w, view.progress))
	}
	return view
}

// budgetPause is the pause before the budgets of a namespace are needed again that are being read.
const budgetPause = time.Second

// limitEvictions creates and changes PodDisruptionBudgets only if installs is set.
func (p *planner) limitEvictions(installs bool) {
	rolledOut, older := p.byVersion()
	budgets := disruption.Decide(disruption.Input{
		CSV: p.CSV, Replaced: p.Upgrade.From, Config: p.Config, Installs: installs, Deployments: rolledOut, Older: older, Pods: p.Observed.Pods,
		Budgets: p.Observed.Budgets, Others: slices.Concat(p.Observed.OtherBudgets, p.endingBudgets()), OthersUnknown: p.Observed.OtherBudgetsUnknown,
		Refused: func(budget *policyv1.PodDisruptionBudget) string { return p.Observed.WriteRefusal(budget) },
	})
	for _, desired := range budgets.Writes {
		live, contest := lookUp(p.Observed.Budgets, desired.Name), p.Observed.Contests[drift.KeyOf(desired)]
		if live != nil || contest.BlockedUntil(p.now).IsZero() { // It may be absent because of the contest.
			p.plan.ensure(desired, live)
		}
	}
	for _, deletion := range budgets.Deletes {
		live, cause := deletion.Budget, drift.Drift{}
		if deletion.Conflicts {
			cause.By = drift.ByConflict
		}
		if !p.plan.writes(drift.KeyOf(live)) {
			p.plan.add(Step{Verb: Delete, Object: live, Live: live, Drift: cause})
		}
	}
	p.refusedBudgets = budgets.Refusals
	if budgets.Waits { // without any, no event reports that they are read
		p.plan.requeue(p.now.Add(budgetPause), "the PodDisruptionBudgets of the namespace are being read")
	}
}

// byVersion returns the Deployments that this version has rolled out, and those of versions that it has replaced. Before it
// replaces them, their own reconciliation regards these.
func (p *planner) byVersion() (rolledOut, older map[string]*appsv1.Deployment) {
	rolledOut, older = map[string]*appsv1.Deployment{}, map[string]*appsv1.Deployment{}
	for name, live := range p.Observed.Deployments {
		switch {
		case p.Upgrade.olderOwner(live) == nil:
			rolledOut[name] = live
		case p.Upgrade.Started:
			older[name] = live
		}
	}
	return rolledOut, older
}

// endingBudgets returns those of Deployments that only previous versions have.
func (p *planner) endingBudgets() []*policyv1.PodDisruptionBudget {
	return lists.Filter(lists.ByKey(p.Observed.Budgets), func(live *policyv1.PodDisruptionBudget) bool {
		return p.Upgrade.Ends(live) && !csvspec.HasDeployment(p.CSV, live.Annotations[wellknown.AnnotationBudgetFor])
	})
}

// mayStartUpgrade reports whether the version may replace the previous ones, and records why not.
func (p *planner) mayStartUpgrade() bool {
	if len(p.Upgrade.From) == 0 || p.Upgrade.Started {
		return true
	}
	if p.Upgrade.Waits() {
		return false
	}
	p.upgradeObstacle = p.selectorConflict()
	if p.upgradeObstacle == "" {
		ended := p.remover.conversionsToEnd()
		p.plan.Count, p.inUse, p.upgradeObstacle = ended.Count, ended.InUse, ended.InUse
	}
	return p.upgradeObstacle == "" && len(p.plan.Count) == 0
}

// Some operators have a first Deployment that needs a webhook of the second one to become ready.
func (p *planner) relax(v deploymentView, waits string, behind []render.Deployment) bool {
	if len(behind) == 0 || v.progress.Since.IsZero() {
		return false
	}
	bound := p.waitingSince(v).Add(p.Policy.OrderTimeout)
	if running := v.progress.Running.Add(p.Policy.RunningTimeout); !v.progress.Running.IsZero() && running.Before(bound) {
		bound = running
	}
	if p.now.Before(bound) {
		p.plan.requeue(bound, "a Deployment delays the next one")
		return false
	}
	// Skipped Deployments that exist are not reported: they started in their order.
	starts := slices.ContainsFunc(behind, func(d render.Deployment) bool { return p.Observed.Deployments[d.Object.Name] == nil })
	if p.relaxed == "" && (starts || meta.IsStatusConditionTrue(p.Previous.Conditions, managerv1alpha1.ConditionOrderRelaxed)) {
		p.relaxed = fmt.Sprintf("deployment %s is not complete within its bound, the next one starts without it: %s", v.name, waits)
	}
	return true
}

// waitingSince returns the last progress of a Deployment or of a webhook that is not registered.
func (p *planner) waitingSince(v deploymentView) time.Time {
	since := v.progress.Since
	for _, w := range v.webhooks {
		if w.missing() {
			since = workload.Later(since, p.sinceOf(w.Description, w.state))
		}
	}
	return since
}
