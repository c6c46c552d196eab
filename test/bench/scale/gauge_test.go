package scale

import (
	"encoding/base64"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// gauge knows how many of something there are, and the most that there ever were.
type gauge struct {
	mutex     sync.Mutex
	now, peak int
}

func (g *gauge) add(n int) { g.set(func(now int) int { return now + n }) }

func (g *gauge) set(next func(now int) int) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.now = next(g.now)
	g.peak = max(g.peak, g.now)
}

func (g *gauge) most() int {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.peak
}

// watchRotations counts the Secrets that record that their certificate is being replaced, in every state of theirs.
func (e *env) watchRotations() *gauge {
	e.Helper()
	w := kube.Watch(e, e.kube.CoreV1().Secrets(metav1.NamespaceAll), metav1.ListOptions{LabelSelector: wellknown.LabelManaged + "=true"})
	g, underWay := &gauge{}, map[string]bool{}
	go func() {
		for event := range w.ResultChan() {
			secret, ok := event.Object.(*corev1.Secret)
			if !ok {
				continue
			}
			name := secret.Namespace + "/" + secret.Name
			delete(underWay, name)
			if secret.Annotations[wellknown.AnnotationNextStoredAt] != "" || secret.Annotations[wellknown.AnnotationPromotedAt] != "" {
				underWay[name] = true
			}
			g.set(func(int) int { return len(underWay) })
		}
	}()
	return g
}

func base64Of(text []byte) string { return base64.StdEncoding.EncodeToString(text) }
