package informers

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// AdoptedPods watches the pods of Deployments that olm-operator made and that stay as they are. These pods lack the label by
// which the manager finds its own, so all pods without the label are watched, in the namespaces of such Deployments only.
type AdoptedPods struct {
	client  kubernetes.Interface
	changed func(before, after drift.Object)

	mutex   sync.Mutex
	end     <-chan struct{}
	watched map[string]watchedPods // by namespace
}

type watchedPods struct {
	store Store[*corev1.Pod]
	end   func()
}

// NewAdoptedPods watches nothing yet. changed is called for each change of a pod.
func NewAdoptedPods(client kubernetes.Interface, changed func(before, after drift.Object)) *AdoptedPods {
	return &AdoptedPods{client: client, changed: changed, watched: map[string]watchedPods{}}
}

// Start sets the channel whose end stops the watches.
func (p *AdoptedPods) Start(end <-chan struct{}) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.end = end
}

// In returns the pods of a namespace without the label. The first call starts the watch, which then reports each pod.
func (p *AdoptedPods) In(namespace string) []*corev1.Pod {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	w, watched := p.watched[namespace]
	if !watched {
		w = p.watch(namespace)
		p.watched[namespace] = w
	}
	return w.store.In(namespace)
}

func (p *AdoptedPods) watch(namespace string) watchedPods {
	factory := informers.NewSharedInformerFactoryWithOptions(p.client, 0, informers.WithNamespace(namespace), selecting("!"+wellknown.LabelCSV))
	informer := factory.Core().V1().Pods().Informer()
	store := NewStore[*corev1.Pod](withoutPodSpec, informer)
	if _, err := informer.AddEventHandler(Handler(p.changed)); err != nil {
		panic(err) // only a stopped informer refuses
	}
	ended, stop := make(chan struct{}), make(chan struct{})
	go func(manager <-chan struct{}) {
		select {
		case <-manager:
		case <-ended:
		}
		close(stop)
	}(p.end)
	go informer.Run(stop)
	return watchedPods{store, sync.OnceFunc(func() { close(ended) })}
}

// EndUnless ends the watch of a namespace if no ClusterServiceVersion needs it any more.
func (p *AdoptedPods) EndUnless(namespace string, needed func() bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if w, watched := p.watched[namespace]; watched && !needed() {
		w.end()
		delete(p.watched, namespace)
	}
}
