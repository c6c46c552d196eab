package decide

import (
	"errors"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/ending"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
)

// Plan is what to do now.
type Plan struct {
	rollout.Plan
	// Questions must be answered before there is a plan: all other fields are empty then.
	Questions []Question
	// Continues is set when the steps are those of an early stage. The next decision has the others.
	Continues bool
	// Stale is set when the decision needs a cache that is not filled yet: all other fields are empty then.
	Stale bool

	Verdict requirements.Verdict
	// RotateAtPending is set while status.certsRotateAt requests a rotation that has not begun.
	RotateAtPending bool
	// NotLifted are the reasons why lifted roles and bindings are not written, by key.
	NotLifted map[string]string
	// Services are the names of the Services, by Deployment.
	Services map[string]string
	// Deployments are the observed Deployments, and the ones of the results.
	Deployments map[string]*appsv1.Deployment
	Learned     []Result
}

var errUndecided = errors.New("questions must be answered first")

var errStale = errors.New("a cache is not filled yet")

// decision is a decision in progress. Its Facts are a copy, to which the results are added.
type decision struct {
	Facts
	now     time.Time
	answers Answers

	secrets  map[string]*corev1.Secret   // that pods serve from; nil if absent; no key if not read
	minted   map[string]certs.Generation // in this reconciliation, by Secret
	services map[string]string           // names by Deployment
	desired  map[string]*corev1.Service  // by Deployment; none while the Services stay as they are
	patched  map[string]bool             // keys of the steps of early stages that were carried out

	confirmed Confirmed

	haveObserved *ending.Found

	// uncached are objects that the caches do not have and whose names an issuer's object needs.
	uncached map[ObjectKey]*unstructured.Unstructured

	// blocking are the keys of Secrets that have the name of a serving certificate and are deleted for it.
	blocking         map[string]bool
	occupiedServices map[string]bool // Deployments whose usual Service name belongs to another client
	occupiedBindings map[string]bool // names that belong to another client
	notLifted        map[string]string

	verdict         requirements.Verdict
	rotateAtPending bool
	questions       []Question
	learned         []Result
}

func newDecision(facts Facts, results Results, now time.Time) *decision {
	d := &decision{
		Facts: facts, now: now, answers: results.Answers,
		secrets: clone(facts.Secrets), minted: map[string]certs.Generation{}, patched: map[string]bool{}, confirmed: Confirmed{},
		uncached:         map[ObjectKey]*unstructured.Unstructured{},
		blocking:         map[string]bool{},
		occupiedServices: map[string]bool{}, occupiedBindings: map[string]bool{}, notLifted: map[string]string{},
		rotateAtPending: certs.RotateAtRequest(facts.CSV.Status.CertsRotateAt, facts.CSV.ManagedFields, now) != "",
	}
	o := &d.Observed
	o.Deployments, o.Services, o.Roles, o.RoleBindings = clone(o.Deployments), clone(o.Services), clone(o.Roles), clone(o.RoleBindings)
	o.Budgets = clone(o.Budgets)
	o.AuthDelegators, o.AuthReaders = clone(o.AuthDelegators), clone(o.AuthReaders)
	o.Validating, o.Mutating, o.APIServices = slices.Clip(o.Validating), slices.Clip(o.Mutating), slices.Clip(o.APIServices)
	o.Lifted, o.Writes, o.Contests, o.CreationTimes = slices.Clone(o.Lifted), clone(o.Writes), clone(o.Contests), clone(o.CreationTimes)
	o.Refused, o.DeletionRefused, o.Undeletable, o.Unanswered, o.JustCreated = clone(o.Refused), map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	o.Forbidden = map[string]string{}
	o.Answers, o.ObjectCounts = map[backends.Endpoint]backends.Answer{}, map[string]int{}
	for _, result := range results.Learned {
		result.addTo(d)
	}
	return d
}

func clone[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// Decide returns the plan, or the questions that must be answered first.
func Decide(facts Facts, results Results, now time.Time) (Plan, error) {
	d := newDecision(facts, results, now)
	steps := d.firstStage()
	plan, err := rollout.Plan{Steps: steps}, error(nil)
	if len(steps) == 0 {
		plan, err = d.decide()
	}
	switch {
	case len(d.questions) > 0:
		return Plan{Questions: d.questions}, nil
	case errors.Is(err, errStale):
		return Plan{Stale: true}, nil
	case err != nil:
		return Plan{}, err
	}
	return Plan{
		Plan: plan, Continues: len(steps) > 0, Verdict: d.verdict, RotateAtPending: d.rotateAtPending,
		NotLifted: d.notLifted, Services: d.services, Deployments: d.Observed.Deployments, Learned: d.learned,
	}, nil
}

// firstStage returns the steps of the first stage that has any, because each depends on the previous one.
func (d *decision) firstStage() []rollout.Step {
	if steps := d.metadataSteps(); len(steps) > 0 {
		return steps
	}
	if steps := requestRemovalSteps(d); len(steps) > 0 {
		return steps
	}
	d.check(d.Requirements.Access)
	if steps := d.liftSteps(); len(steps) > 0 {
		return steps
	}
	if d.liftsRoles() {
		d.check(d.Grants.With(d.lifted()))
	}
	return d.definitionOwnerSteps()
}

func (d *decision) check(access permissions.Access) {
	facts := d.Requirements
	facts.Access, facts.FinalizerProblem, facts.Now, facts.Unlisted = access, d.finalizerProblem(), d.now, d.Grants.Unlisted()
	d.verdict = requirements.Check(facts)
}

func (d *decision) decide() (rollout.Plan, error) {
	plan, err := d.install()
	if err != nil {
		return rollout.Plan{}, err
	}
	mirror, err := d.mirrorStep(plan)
	if mirror != nil {
		plan.Steps = append(plan.Steps, *mirror)
	}
	return plan, err
}

func (d *decision) install() (rollout.Plan, error) {
	in := d.input()
	idle := in.Failure != nil || !in.Verdict.Passes() || in.Upgrade.Waits()
	if idle && !in.RepairsInService() && !in.KeepsTrustOnly() {
		return d.next(in), nil
	}
	csv := in.ToRender()
	d.nameServices(csv, in.RendersAsServed())
	rendering := d.rendering(csv)
	requeue, err := d.certify(&in, &rendering)
	if err != nil {
		return rollout.Plan{}, err
	}
	maintained, err := d.maintain(&in, rendering)
	if err != nil {
		return rollout.Plan{}, err
	}
	d.refresh(&in)
	form := newFormer(d, in, rendering)
	in.Desired = takeover.Apply(form.Input, render.Objects(rendering))
	form.returnSecrets(&in)
	if in.Condition, err = d.conditionStep(in.Desired.Condition); err != nil {
		return rollout.Plan{}, err
	}
	plan := d.next(in)
	form.report(&plan)
	plan.Requeue = plan.Requeue.Earliest(requeue, maintained, d.afterDeletion(plan.Steps))
	return plan, nil
}

func (d *decision) next(in rollout.Input) rollout.Plan {
	plan := rollout.Next(in, d.now)
	if csvspec.TakeoverOrder(d.CSV) != "" {
		plan.Status.Takeover = takeover.NotCompared(d.CSV, d.Status.Takeover) // form.report replaces it
	}
	if !in.DeletionBlocked { // Then the record stays as it is.
		plan.Status.Created = in.Observed.Created(in.CSV)
	}
	return plan
}

func (d *decision) input() rollout.Input {
	return rollout.Input{
		CSV:             d.CSV,
		Policy:          d.Settings.Rollout,
		Failure:         d.Failure,
		Verdict:         d.verdict,
		Upgrade:         d.Upgrade,
		DeletionBlocked: d.Deleting,
		Config:          d.Config,
		Observed:        d.Observed,
		Previous:        d.Status,
		Provider:        d.choice().Provider,
		FailOpen:        rollout.FailOpen{Recorded: d.Recorded, Memories: d.Memories, Confirmed: d.confirmed},
		HaveObserved:    d.haveObserved,

		Certificates: map[string]managerv1alpha1.CertificateStatus{},
		Secrets:      map[string]*rollout.Step{},
	}
}

// refresh replaces the definitions by the live ones. The next decision has the live registrations.
func (d *decision) refresh(in *rollout.Input) {
	in.Observed.CRDs, in.Observed.Refused, in.Observed.DeletionRefused, in.Observed.Undeletable = d.Observed.CRDs, d.Observed.Refused, d.Observed.DeletionRefused, d.Observed.Undeletable
}

// rendering is what the objects of a version depend on, except for the certificates.
func (d *decision) rendering(csv *operatorsv1alpha1.ClusterServiceVersion) render.Input {
	in := render.Input{
		CSV: csv, Scope: d.Scope, Manager: d.Settings.Manager, Installer: d.Installer.User(), Definitions: d.Definitions, Config: d.Config,
		Services: d.services, Delegations: d.nameDelegations(), Configurations: d.Observed.Configurations(csv),
		Trust: map[string]render.Trust{}, OperatorConditions: d.Condition.Supported,
	}
	if in.Scope.Group == nil {
		in.Scope.Group = &operatorsv1.OperatorGroup{} // Only the trust of what is rendered is written then.
	}
	return in
}

// certify returns when to reconcile the certificates again.
func (d *decision) certify(in *rollout.Input, rendering *render.Input) (requeue rollout.Requeue, err error) {
	d.rotateAtPending = false
	for _, spec := range csvspec.Deployments(rendering.CSV) {
		if len(csvspec.Descriptions(rendering.CSV, spec.Name)) == 0 || d.verdict.ClaimedDeployments[spec.Name] != "" {
			continue
		}
		at, err := d.certifyOne(in, rendering, spec.Name)
		if err != nil {
			return rollout.Requeue{}, err
		}
		requeue = requeue.Earliest(at)
	}
	return requeue, nil
}

func (d *decision) certifyOne(in *rollout.Input, rendering *render.Input, deployment string) (requeue rollout.Requeue, err error) {
	certificate, err := (&certifier{d, deployment, d.services[deployment]}).certificate()
	if err != nil {
		return rollout.Requeue{}, err
	}
	in.Certificates[deployment] = certificate.status
	in.Secrets[deployment] = certificate.write
	in.Issuance = append(in.Issuance, certificate.steps...)
	in.ResyncPods = append(in.ResyncPods, certificate.resync...)
	rendering.Trust[deployment] = certificate.trust
	return certificate.requeue, nil
}

// maintain adds what is registered and is to be called in another way, with the certificates until then.
func (d *decision) maintain(in *rollout.Input, desired render.Input) (requeue rollout.Requeue, err error) {
	d.refresh(in)
	for _, served := range in.ToMaintain() {
		rendering := d.rendering(served)
		maps.Copy(rendering.Trust, desired.Trust)
		for _, spec := range csvspec.Deployments(served) {
			d.services[spec.Name] = d.serviceName(spec.Name)
			if _, known := in.Certificates[spec.Name]; known || len(in.ServedOtherwise(served, spec.Name)) == 0 {
				continue
			}
			at, err := d.certifyOne(in, &rendering, spec.Name)
			if err != nil {
				return rollout.Requeue{}, err
			}
			requeue = requeue.Earliest(at)
		}
		rendering.Delegations = d.nameDelegations()
		in.Maintained = append(in.Maintained, in.MaintainedDeployments(served, render.Objects(rendering).Deployments)...)
	}
	return requeue, nil
}
