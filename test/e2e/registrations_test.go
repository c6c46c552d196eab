package e2e

import (
	"k8s.io/apimachinery/pkg/watch"
)

// registrations are watched from the beginning of a test: one that comes and goes
// again is seen too.
type registrations struct {
	*env
	watches []watch.Interface
}

func (e *env) watchRegistrations() registrations {
	e.Helper()
	validating, err := kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations().Watch(e.ctx, e.ours())
	e.must(err)
	e.Cleanup(validating.Stop)
	mutating, err := kubeClient.AdmissionregistrationV1().MutatingWebhookConfigurations().Watch(e.ctx, e.ours())
	e.must(err)
	e.Cleanup(mutating.Stop)
	return registrations{e, []watch.Interface{validating, mutating}}
}

// none fails when there was one at any time.
func (r registrations) none() {
	r.Helper()
	for _, w := range r.watches {
		select {
		case event, open := <-w.ResultChan():
			r.Errorf("something was registered, or the watch ended (open: %t): %s %v", open, event.Type, event.Object)
		default:
		}
	}
	if now := r.env.registrations(); len(now) > 0 {
		r.Errorf("registered: %v", now)
	}
}
