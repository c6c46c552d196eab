package e2e

import (
	"k8s.io/apimachinery/pkg/watch"
)

// registrationWatch begins with a test, so that a registration that is created and deleted
// again is observed too.
type registrationWatch struct {
	*env
	watches []watch.Interface
}

func watchRegistrations(e *env) registrationWatch {
	e.Helper()
	validating, err := kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations().Watch(e.ctx, e.ours())
	e.must(err)
	e.Cleanup(validating.Stop)
	mutating, err := kubeClient.AdmissionregistrationV1().MutatingWebhookConfigurations().Watch(e.ctx, e.ours())
	e.must(err)
	e.Cleanup(mutating.Stop)
	return registrationWatch{e, []watch.Interface{validating, mutating}}
}

// none fails when there was one at any time.
func (r registrationWatch) none() {
	r.Helper()
	for _, w := range r.watches {
		select {
		case event, open := <-w.ResultChan():
			r.Errorf("something was registered, or the watch ended (open: %t): %s %v", open, event.Type, event.Object)
		default:
		}
	}
	if now := r.registrations(); len(now) > 0 {
		r.Errorf("registered: %v", now)
	}
}
