package informers

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// InNamespaces watches objects of other clients, in the namespaces of the operators that need them only.
type InNamespaces[T drift.Object] struct {
	informer  func(namespace string) cache.SharedIndexInformer
	transform cache.TransformFunc
	changed   func(before, after drift.Object)

	mutex   sync.Mutex
	end     <-chan struct{}
	watched map[string]watchedNamespace[T] // by name
}

type watchedNamespace[T drift.Object] struct {
	store Store[T]
	end   func()
}

// AdoptedPods are the pods of Deployments that olm-operator made and that stay as they are. These pods lack the label by
// which the manager finds its own, so all pods without the label are watched.
type AdoptedPods = InNamespaces[*corev1.Pod]

// NewAdoptedPods watches nothing yet. changed is called for each change of a pod.
func NewAdoptedPods(client kubernetes.Interface, changed func(before, after drift.Object)) *AdoptedPods {
	return newInNamespaces[*corev1.Pod](withoutPodSpec, changed, func(namespace string) cache.SharedIndexInformer {
		return unlabelledIn(client, namespace, "!"+wellknown.LabelCSV).Core().V1().Pods().Informer()
	})
}

// OtherBudgets are the PodDisruptionBudgets without the label of derived objects.
type OtherBudgets = InNamespaces[*policyv1.PodDisruptionBudget]

// NewOtherBudgets watches nothing yet. changed is called for each change of a budget.
func NewOtherBudgets(client kubernetes.Interface, changed func(before, after drift.Object)) *OtherBudgets {
	return newInNamespaces[*policyv1.PodDisruptionBudget](onlySelector, changed, func(namespace string) cache.SharedIndexInformer {
		return unlabelledIn(client, namespace, wellknown.LabelManaged+"!=true").Policy().V1().PodDisruptionBudgets().Informer()
	})
}

func unlabelledIn(client kubernetes.Interface, namespace, labels string) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace), selecting(labels))
}

func newInNamespaces[T drift.Object](transform cache.TransformFunc, changed func(before, after drift.Object), informer func(namespace string) cache.SharedIndexInformer) *InNamespaces[T] {
	return &InNamespaces[T]{informer: informer, transform: transform, changed: changed, watched: map[string]watchedNamespace[T]{}}
}

// Start sets the channel whose end stops the watches.
func (n *InNamespaces[T]) Start(end <-chan struct{}) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.end = end
}

// In returns the objects of a namespace, and whether they are read. The first call starts the watch, which then reports each
// object. Without objects, no event reports that they are read.
func (n *InNamespaces[T]) In(namespace string) (objects []T, read bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	w, watched := n.watched[namespace]
	if !watched {
		w = n.watch(namespace)
		n.watched[namespace] = w
	}
	return w.store.In(namespace), w.store.Synced()
}

func (n *InNamespaces[T]) watch(namespace string) watchedNamespace[T] {
	informer := n.informer(namespace)
	store := NewStore[T](n.transform, informer)
	if _, err := informer.AddEventHandler(Handler(n.changed)); err != nil {
		panic(err) // only a stopped informer refuses
	}
	ended, stop := make(chan struct{}), make(chan struct{})
	go func(manager <-chan struct{}) {
		select {
		case <-manager:
		case <-ended:
		}
		close(stop)
	}(n.end)
	go informer.Run(stop)
	return watchedNamespace[T]{store, sync.OnceFunc(func() { close(ended) })}
}

// EndUnless ends the watch of a namespace if no ClusterServiceVersion needs it any more.
func (n *InNamespaces[T]) EndUnless(namespace string, needed func() bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if w, watched := n.watched[namespace]; watched && !needed() {
		w.end()
		delete(n.watched, namespace)
	}
}
