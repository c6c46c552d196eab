package informers

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// limited holds factories by namespace: a manager needs no permission to read Secrets and workloads of others.
type limited struct {
	derived, labelledPods []informers.SharedInformerFactory
}

func newLimited(kube kubernetes.Interface, namespaces []string) limited {
	var l limited
	for _, namespace := range orAll(namespaces) {
		of := func(labels string) informers.SharedInformerFactory {
			return informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(namespace), selecting(labels))
		}
		l.derived = append(l.derived, of(wellknown.LabelManaged+"=true"))
		l.labelledPods = append(l.labelledPods, of(wellknown.LabelCSV))
	}
	return l
}

func orAll(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return slices.Compact(slices.Sorted(slices.Values(namespaces)))
}

func each(factories []informers.SharedInformerFactory, which func(informers.SharedInformerFactory) cache.SharedIndexInformer) []cache.SharedIndexInformer {
	return lists.Map(factories, which)
}

func (l limited) factories() []factory {
	return lists.Map(slices.Concat(l.derived, l.labelledPods), func(f informers.SharedInformerFactory) factory { return f })
}
