package rollout

// writeSecret puts the serving certificate of a Deployment into the cluster: before the
// pods that mount it, and before the registrations, whose trust is that of the Secret.
func (p *planner) writeSecret(deployment string) {
	secret := p.Secrets[deployment]
	if secret == nil {
		return
	}
	step := Step{Verb: Update, Object: secret}
	if secret.ResourceVersion == "" {
		step.Verb = Create
	}
	p.take(step)
}
