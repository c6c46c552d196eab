package controller

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// decide asks the pure packages, one after the other, what to do now.
func (c *Controller) decide(ctx context.Context, s *snapshot, now time.Time) (rollout.Plan, error) {
	in := c.known(s)
	idle := in.Failure != nil || !in.Verdict.Passes() || in.Upgrade.Waits()
	if idle && !in.Keeps() && !in.KeepsTrust() {
		return next(in, now), nil
	}
	csv := in.ToRender()
	c.nameServices(s, csv, in.Holds())
	rendering := c.rendering(s, csv)
	again, err := c.certify(ctx, s, &in, &rendering, now)
	if err != nil {
		return rollout.Plan{}, err
	}
	maintained, err := c.maintain(ctx, s, &in, rendering, now)
	if err != nil {
		return rollout.Plan{}, err
	}
	again = sooner(again, maintained)
	plan, err := c.plan(s, in, rendering, now)
	plan.NextLook = sooner(plan.NextLook, again)
	return plan, err
}

// plan renders what is wanted and compares it with what is live, which takes nothing but a
// processor and memory.
func (c *Controller) plan(s *snapshot, in rollout.Input, rendering render.Input, now time.Time) (plan rollout.Plan, err error) {
	defer c.processors.take()()
	in.Desired = render.Render(rendering)
	if in.Condition, err = c.conditionStep(s.csv, in.Desired.Condition); err != nil {
		return rollout.Plan{}, err
	}
	return next(in, now), nil
}

// next is the decision, with the record of what no garbage collection removes.
func next(in rollout.Input, now time.Time) rollout.Plan {
	plan := rollout.Next(in, now)
	if !in.Leaving { // that one says what it said
		plan.Status.Created = in.Observed.Created(in.CSV)
	}
	return plan
}

// known is what is known before anything is rendered.
func (c *Controller) known(s *snapshot) rollout.Input {
	return rollout.Input{
		CSV:      s.csv,
		Policy:   c.Rollout,
		Failure:  s.failure,
		Verdict:  s.verdict,
		Upgrade:  s.upgrade,
		Leaving:  s.leaving,
		Config:   s.config,
		Observed: s.observed,
		Previous: s.status,
		Provider: s.choice().Provider,

		Certificates: map[string]managerv1alpha1.CertificateStatus{},
		Secrets:      map[string]*corev1.Secret{},
	}
}

// rendering is what the objects of a version depend on, but for its certificates.
func (c *Controller) rendering(s *snapshot, csv *operatorsv1alpha1.ClusterServiceVersion) render.Input {
	in := render.Input{
		CSV: csv, Scope: s.scope, Manager: c.self, Definitions: c.definitions(s.csv), Config: s.config, Services: s.services, Delegations: s.nameDelegations(),
		Configurations: s.observed.Configurations(csv),
		Trust:          map[string]render.Trust{},

		OperatorConditions: c.hasOperatorConditions(),
	}
	if in.Scope.Group == nil {
		in.Scope.Group = &operatorsv1.OperatorGroup{} // only the trust of what is rendered is written then
	}
	return in
}

// certify adds the certificate of each Deployment that serves, and says when to look at them
// again.
func (c *Controller) certify(ctx context.Context, s *snapshot, in *rollout.Input, rendering *render.Input, now time.Time) (again time.Time, err error) {
	s.duePending = false
	for _, spec := range csvspec.Deployments(rendering.CSV) {
		if len(csvspec.DescriptionsOf(rendering.CSV, spec.Name)) == 0 || s.verdict.Held[spec.Name] != "" {
			continue
		}
		next, err := c.certifyOne(ctx, s, in, rendering, spec.Name, now)
		if err != nil {
			return time.Time{}, err
		}
		again = sooner(again, next)
	}
	return again, nil
}

// certifyOne adds the certificate of one Deployment.
func (c *Controller) certifyOne(ctx context.Context, s *snapshot, in *rollout.Input, rendering *render.Input, deployment string, now time.Time) (again time.Time, err error) {
	certificate, err := c.certificate(ctx, s, deployment, now)
	if err != nil {
		return time.Time{}, err
	}
	in.Certificates[deployment] = certificate.status
	in.Secrets[deployment] = certificate.write
	in.Issuance = append(in.Issuance, certificate.tell...)
	in.Nudges = append(in.Nudges, certificate.nudge...)
	rendering.Trust[deployment] = certificate.trust
	return certificate.again, nil
}

// maintain adds what is registered and is to be called in another way, with the certificates of
// the Deployments that serve it until then.
func (c *Controller) maintain(ctx context.Context, s *snapshot, in *rollout.Input, wanted render.Input, now time.Time) (again time.Time, err error) {
	for _, served := range in.ToMaintain() {
		rendering := c.rendering(s, served)
		maps.Copy(rendering.Trust, wanted.Trust)
		for _, spec := range csvspec.Deployments(served) {
			s.nameService(c, spec.Name)
			if _, known := in.Certificates[spec.Name]; known || len(in.Elsewhere(served, spec.Name)) == 0 {
				continue
			}
			next, err := c.certifyOne(ctx, s, in, &rendering, spec.Name, now)
			if err != nil {
				return time.Time{}, err
			}
			again = sooner(again, next)
		}
		rendering.Delegations = s.nameDelegations()
		in.Maintained = append(in.Maintained, in.Serving(served, render.Render(rendering).Deployments)...)
	}
	return again, nil
}

// sooner is the earlier of two instants, where zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
