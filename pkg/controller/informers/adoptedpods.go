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

	mutex  sync.Mutex
	end    <-chan struct{}
	stores map[string]Store[*corev1.Pod] // by namespace
}

// NewAdoptedPods watches nothing yet. changed is called for each change of a pod.
func NewAdoptedPods(client kubernetes.Interface, changed func(before, after drift.Object)) *AdoptedPods {
	return &AdoptedPods{client: client, changed: changed, stores: map[string]Store[*corev1.Pod]{}}
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
	s, watched := p.stores[namespace]
	if !watched {
		factory := informers.NewSharedInformerFactoryWithOptions(p.client, 0, informers.WithNamespace(namespace), selecting("!"+wellknown.LabelCSV))
		informer := factory.Core().V1().Pods().Informer()
		s = NewStore[*corev1.Pod](withoutPodSpec, informer)
		if _, err := informer.AddEventHandler(Handler(p.changed)); err != nil {
			panic(err) // only a stopped informer refuses
		}
		go informer.Run(p.end)
		p.stores[namespace] = s
	}
	return s.In(namespace)
}
