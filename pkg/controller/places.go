package controller

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
)

// places are those for rotations that go on at once. Workers that look at one moment do
// not see in the caches what each of them is about to begin, so a place is kept from the
// question on until the caches show that it was taken, or it has not been for a while. To
// forget is harmless: more rotations go on at once.
type places struct {
	mutex sync.Mutex
	kept  map[types.NamespacedName]time.Time
}

// placeKept is how long a pass may take to begin a rotation.
const placeKept = passTimeout

// others is how many other certificates are being replaced, by their Secrets and by what
// is kept. One that may be replaced beside them, because there are fewer than the limit,
// has its place kept.
func (p *places) others(this types.NamespacedName, secrets []*corev1.Secret, limit int, now time.Time) int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	taken := map[types.NamespacedName]bool{}
	for _, secret := range secrets {
		if certs.UnderWay(secret, now) {
			name := types.NamespacedName{Namespace: secret.Namespace, Name: secret.Name}
			taken[name] = true
			delete(p.kept, name)
		}
	}
	for name, at := range p.kept {
		if now.Sub(at) < placeKept {
			taken[name] = true
		} else {
			delete(p.kept, name)
		}
	}
	delete(taken, this)
	if len(taken) < limit {
		if p.kept == nil {
			p.kept = map[types.NamespacedName]time.Time{}
		}
		p.kept[this] = now
	}
	return len(taken)
}
