package decide

import (
	"errors"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// Plan is what to do now.
type Plan struct {
	rollout.Plan
	// Questions must be answered before there is a plan: all other fields are empty then.
	Questions []Question
	// Continues is set when the steps are those of an early stage. The next decision has the others.
	Continues bool
	// Stale is set when the decision needs a cache that is not filled yet.
	Stale bool
	// Facts are the given ones with what the answers replaced.
	Facts Facts
}

// errUndecided ends a decision that has asked questions.
var errUndecided = errors.New("questions must be answered first")

// errStale ends a decision that needs a cache which is not filled.
var errStale = errors.New("a cache is not filled yet")

// decision is a decision in progress. Its Facts are a copy.
type decision struct {
	Facts
	now       time.Time
	desired   map[string]*corev1.Service // by Deployment; none while the Services stay as they are
	questions []Question
}

// Decide returns the plan that the facts lead to, or the questions that must be answered first.
func Decide(facts Facts, now time.Time) (Plan, error) {
	d := &decision{Facts: facts, now: now}
	d.Secrets = maps.Clone(facts.Secrets)
	d.NotLifted = maps.Clone(facts.NotLifted)
	d.Observed.Refused, d.Observed.Contests = maps.Clone(facts.Observed.Refused), maps.Clone(facts.Observed.Contests)
	if steps := d.firstStage(); len(steps) > 0 {
		return Plan{Plan: rollout.Plan{Steps: steps}, Continues: true, Facts: d.Facts}, nil
	}
	plan, err := d.decide()
	switch {
	case errors.Is(err, errUndecided):
		return Plan{Questions: d.questions, Facts: facts}, nil
	case errors.Is(err, errStale):
		return Plan{Stale: true, Facts: facts}, nil
	case err != nil:
		return Plan{}, err
	default:
		return Plan{Plan: plan, Facts: d.Facts}, nil
	}
}

// firstStage returns the steps of the first stage that has any. Each stage depends on what the
// previous one wrote. It sets the verdict.
func (d *decision) firstStage() []rollout.Step {
	if steps := d.metadataSteps(); len(steps) > 0 {
		return steps
	}
	d.check(d.Requirements.Access)
	if steps := d.liftSteps(); len(steps) > 0 {
		return steps
	}
	if d.liftsRoles() {
		d.check(d.Requirements.Access.With(d.CSV.Namespace, untyped(d.Observed.Lifted)))
	}
	return d.definitionOwnerSteps()
}

// check sets the verdict.
func (d *decision) check(access permissions.Access) {
	facts := d.Requirements
	facts.Access, facts.FinalizerProblem = access, d.finalizerProblem()
	d.Verdict = requirements.Check(facts)
}

// decide returns the plan after the early stages.
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

// install returns the plan for everything that is rendered.
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
	in.Desired = render.Objects(rendering)
	if in.Condition, err = d.conditionStep(in.Desired.Condition); err != nil {
		return rollout.Plan{}, err
	}
	plan := d.next(in)
	plan.Requeue = plan.Requeue.Earliest(requeue, maintained)
	return plan, nil
}

// next is the plan, with the record of what no garbage collection removes.
func (d *decision) next(in rollout.Input) rollout.Plan {
	plan := rollout.Next(in, d.now)
	if !in.DeletionBlocked { // Then the record stays as it is.
		plan.Status.Created = in.Observed.Created(in.CSV)
	}
	return plan
}

// input is what is known before anything is rendered.
func (d *decision) input() rollout.Input {
	return rollout.Input{
		CSV:             d.CSV,
		Policy:          d.Settings.Rollout,
		Failure:         d.Failure,
		Verdict:         d.Verdict,
		Upgrade:         d.Upgrade,
		DeletionBlocked: d.Deleting,
		Config:          d.Config,
		Observed:        d.Observed,
		Previous:        d.Status,
		Provider:        d.choice().Provider,

		Certificates: map[string]managerv1alpha1.CertificateStatus{},
		Secrets:      map[string]*corev1.Secret{},
	}
}

// refresh replaces the definitions by the live ones. The registrations are still the cached ones: the
// next decision has the live ones.
func (d *decision) refresh(in *rollout.Input) {
	in.Observed.CRDs, in.Observed.Refused = d.Observed.CRDs, d.Observed.Refused
}

// rendering is what the objects of a version depend on, except for the certificates.
func (d *decision) rendering(csv *operatorsv1alpha1.ClusterServiceVersion) render.Input {
	in := render.Input{
		CSV: csv, Scope: d.Scope, Manager: d.Settings.Manager, Definitions: d.Definitions, Config: d.Config,
		Services: d.Services, Delegations: d.nameDelegations(), Configurations: d.Observed.Configurations(csv),
		Trust: map[string]render.Trust{}, OperatorConditions: d.Condition.Supported,
	}
	if in.Scope.Group == nil {
		in.Scope.Group = &operatorsv1.OperatorGroup{} // Only the trust of what is rendered is written then.
	}
	return in
}

// certify adds the certificate of each Deployment that serves webhooks. It returns when to reconcile
// them again.
func (d *decision) certify(in *rollout.Input, rendering *render.Input) (requeue rollout.Requeue, err error) {
	d.RotateAtPending = false
	for _, spec := range csvspec.Deployments(rendering.CSV) {
		if len(csvspec.Descriptions(rendering.CSV, spec.Name)) == 0 || d.Verdict.ClaimedDeployments[spec.Name] != "" {
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

// certifyOne adds the certificate of one Deployment.
func (d *decision) certifyOne(in *rollout.Input, rendering *render.Input, deployment string) (requeue rollout.Requeue, err error) {
	certificate, err := d.certificate(deployment)
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

// maintain adds what is registered and is to be called in another way, with the certificates of
// the Deployments that serve it until then.
func (d *decision) maintain(in *rollout.Input, desired render.Input) (requeue rollout.Requeue, err error) {
	d.refresh(in)
	for _, served := range in.ToMaintain() {
		rendering := d.rendering(served)
		maps.Copy(rendering.Trust, desired.Trust)
		for _, spec := range csvspec.Deployments(served) {
			d.Services[spec.Name] = d.ServiceName(spec.Name)
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
