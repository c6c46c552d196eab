package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// decide asks the pure packages, one after the other, what to do now.
func (c *Controller) decide(ctx context.Context, s *snapshot, now time.Time) (rollout.Plan, error) {
	in := rollout.Input{
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
	}
	if (in.Failure != nil || !in.Verdict.Passes() || s.upgrade.Waits()) && !in.Keeps() && !in.KeepsTrust() {
		return rollout.Next(in, now), nil
	}
	csv := in.ToRender()
	c.nameServices(s, csv)
	in.Certificates, in.Secrets = map[string]managerv1alpha1.CertificateStatus{}, map[string]*corev1.Secret{}
	rendering := install.Input{
		CSV: csv, Scope: s.scope, Manager: c.self, Definitions: c.definitions(s.csv), Config: s.config, Services: s.services, Delegations: s.nameDelegations(),
		Configurations: s.observed.Configurations(csv),
		Trust:          map[string]install.Trust{},

		OperatorConditions: c.hasOperatorConditions(),
	}
	if rendering.Scope.Group == nil {
		rendering.Scope.Group = &operatorsv1.OperatorGroup{} // only the trust of what is rendered is written then
	}
	var again time.Time
	s.duePending = false
	for _, spec := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if len(install.DescriptionsOf(csv, spec.Name)) == 0 {
			continue
		}
		certificate, err := c.certificate(ctx, s, spec.Name, now)
		if err != nil {
			return rollout.Plan{}, err
		}
		in.Certificates[spec.Name] = certificate.status
		rendering.Trust[spec.Name] = certificate.trust
		in.Secrets[spec.Name] = certificate.write
		in.Issuance = append(in.Issuance, certificate.tell...)
		in.Nudges = append(in.Nudges, certificate.nudge...)
		again = sooner(again, certificate.again)
	}
	in.Desired = install.Render(rendering)
	var err error
	if in.Condition, err = c.conditionStep(s.csv, in.Desired.Condition); err != nil {
		return rollout.Plan{}, err
	}
	plan := rollout.Next(in, now)
	plan.NextLook = sooner(plan.NextLook, again)
	return plan, nil
}

// sooner is the earlier of two instants, where zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
