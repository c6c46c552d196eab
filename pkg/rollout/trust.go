package rollout

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// writeSecret puts the serving certificate of a Deployment into the cluster: before the
// pods that mount it, and before the registrations, whose trust is that of the Secret.
func (p *planner) writeSecret(deployment string) {
	secret := p.Secrets[deployment]
	if secret == nil {
		return
	}
	step := Step{Verb: Update, Object: secret, Desired: secret}
	if secret.ResourceVersion == "" {
		step.Verb = Create
	}
	p.take(step)
}

// HoldsSecret reports whether a Secret is not to be written for now, because others undo each
// write of it.
func (o Observed) HoldsSecret(secret *corev1.Secret, now time.Time) bool {
	return o.Contests[drift.KeyOf(secret)].Blocks(secret, nil, drift.Drift{}, now)
}
