package records

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
)

// RotationSlots reserves slots until the caches show the rotations. A lost record only allows more of them.
type RotationSlots struct {
	mutex sync.Mutex
	kept  map[types.NamespacedName]time.Time
}

// slotKept is how long a reconciliation may take to begin a rotation.
const slotKept = time.Minute

// Reserve reserves a slot if fewer other certificates than the limit are being replaced. It returns their number.
func (p *RotationSlots) Reserve(this types.NamespacedName, secrets []*corev1.Secret, limit int, now time.Time) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	taken := map[types.NamespacedName]bool{}
	for _, secret := range secrets {
		if certs.HasRotationSlot(secret, now) {
			name := types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}
			taken[name] = true
			delete(p.kept, name)
		}
	}
	for name, at := range p.kept {
		if now.Sub(at) < slotKept {
			taken[name] = true
		} else {
			delete(p.kept, name)
		}
	}
	delete(taken, this)
	if len(taken) < limit {
		put(&p.kept, this, now)
	}
	return len(taken)
}
