package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// decide asks the pure packages, one after the other, what to do now.
func (c *Controller) decide(ctx context.Context, s *snapshot, now time.Time) (rollout.Plan, error) {
	in := c.known(s)
	idle := in.Failure != nil || !in.Verdict.Passes() || in.Upgrade.Waits()
	if idle && !in.Keeps() && !in.KeepsTrust() {
		return rollout.Next(in, now), nil
	}
	csv := in.ToRender()
	c.nameServices(s, csv)
	rendering := c.rendering(s, csv)
	again, err := c.certify(ctx, s, &in, &rendering, now)
	if err != nil {
		return rollout.Plan{}, err
	}
	plan, err := c.plan(s, in, rendering, now)
	plan.NextLook = sooner(plan.NextLook, again)
	return plan, err
}

// plan renders what is wanted and compares it with what is live, which takes nothing but a
// processor and memory.
func (c *Controller) plan(s *snapshot, in rollout.Input, rendering install.Input, now time.Time) (plan rollout.Plan, err error) {
	defer c.processors.take()()
	in.Desired = install.Render(rendering)
	if in.Condition, err = c.conditionStep(s.csv, in.Desired.Condition); err != nil {
		return rollout.Plan{}, err
	}
	return rollout.Next(in, now), nil
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
func (c *Controller) rendering(s *snapshot, csv *operatorsv1alpha1.ClusterServiceVersion) install.Input {
	in := install.Input{
		CSV: csv, Scope: s.scope, Manager: c.self, Definitions: c.definitions(s.csv), Config: s.config, Services: s.services, Delegations: s.nameDelegations(),
		Configurations: s.observed.Configurations(csv),
		Trust:          map[string]install.Trust{},

		OperatorConditions: c.hasOperatorConditions(),
	}
	if in.Scope.Group == nil {
		in.Scope.Group = &operatorsv1.OperatorGroup{} // only the trust of what is rendered is written then
	}
	return in
}

// certify adds the certificate of each Deployment that serves, and says when to look at them
// again.
func (c *Controller) certify(ctx context.Context, s *snapshot, in *rollout.Input, rendering *install.Input, now time.Time) (again time.Time, err error) {
	s.duePending = false
	for _, spec := range rendering.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if len(install.DescriptionsOf(rendering.CSV, spec.Name)) == 0 {
			continue
		}
		certificate, err := c.certificate(ctx, s, spec.Name, now)
		if err != nil {
			return time.Time{}, err
		}
		in.Certificates[spec.Name] = certificate.status
		in.Secrets[spec.Name] = certificate.write
		in.Issuance = append(in.Issuance, certificate.tell...)
		in.Nudges = append(in.Nudges, certificate.nudge...)
		rendering.Trust[spec.Name] = certificate.trust
		again = sooner(again, certificate.again)
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
