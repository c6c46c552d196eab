package metrics

import (
	"sync"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
)

// rotations times only rotations that begin after this process.
type rotations struct {
	mutex sync.Mutex
	began map[rotating]time.Time
}

type rotating struct {
	key        queue.Key
	deployment string
}

// completed are the times that rotations took which came to their end between two statuses.
func (r *rotations) completed(k queue.Key, before, after managerv1alpha1.WebhookRolloutStatus, now time.Time) map[managerv1alpha1.CertificateProvider]time.Duration {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	was, took := phases(before), map[managerv1alpha1.CertificateProvider]time.Duration{}
	for _, d := range after.Deployments {
		if d.Certificate == nil {
			continue
		}
		id, stable := rotating{k, d.Name}, d.Certificate.Phase == managerv1alpha1.CertificateStable
		began, known := r.began[id]
		switch {
		case !stable && was[d.Name] == managerv1alpha1.CertificateStable:
			if r.began == nil {
				r.began = map[rotating]time.Time{}
			}
			r.began[id] = now
		case stable && known:
			took[d.Certificate.Provider] = now.Sub(began)
			delete(r.began, id)
		}
	}
	return took
}

func phases(s managerv1alpha1.WebhookRolloutStatus) map[string]managerv1alpha1.CertificatePhase {
	phases := map[string]managerv1alpha1.CertificatePhase{}
	for _, d := range s.Deployments {
		if d.Certificate != nil {
			phases[d.Name] = d.Certificate.Phase
		}
	}
	return phases
}
