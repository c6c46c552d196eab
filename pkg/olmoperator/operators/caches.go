package operators

import (
	"context"
	"errors"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// ownCaches hold what the shared caches do not have.
type ownCaches struct {
	shared        *informers.Caches
	subscriptions informers.Store[*operatorsv1alpha1.Subscription]
	configMaps    informers.Store[*metav1.PartialObjectMetadata]

	// A cluster may not have these kinds, or get them later.
	operators  informers.Store[*operatorsv1.Operator]
	conditions informers.Store[*unstructured.Unstructured]

	mutex   sync.Mutex
	ctx     context.Context //nolint:containedctx // The caches that begin later run until the same context ends.
	started map[string]bool
}

func newOwnCaches(set clients.Set, shared *informers.Caches) *ownCaches {
	onlyManaged := func(o *metav1.ListOptions) { o.LabelSelector = wellknown.LabelManaged + "=true" }
	configMaps := metadatainformer.NewFilteredMetadataInformer(set.Metadata, corev1.SchemeGroupVersion.WithResource("configmaps"), metav1.NamespaceAll, 0, byNamespace(), onlyManaged)
	conditions := dynamicinformer.NewFilteredDynamicInformer(set.Dynamic, owners.OperatorConditions.Resource, metav1.NamespaceAll, 0, byNamespace(), nil)
	return &ownCaches{
		shared:        shared,
		subscriptions: informers.NewStore[*operatorsv1alpha1.Subscription](trimmedSubscription, olmclient.NewInformer(set.OLM.Subscriptions(metav1.NamespaceAll))),
		configMaps:    informers.NewStore[*metav1.PartialObjectMetadata](nil, configMaps.Informer()),
		operators:     informers.NewStore[*operatorsv1.Operator](trimmedOperator, olmclient.NewInformer(set.OLM.Operators())),
		conditions:    informers.NewStore[*unstructured.Unstructured](trimmedCondition, conditions.Informer()),
		started:       map[string]bool{},
	}
}

// byNamespace returns a map for one informer, which adds its other indexes to it.
func byNamespace() cache.Indexers {
	return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
}

// operatorsCRD is absent in a cluster without OLM. The manager does not install it.
const operatorsCRD = "operators.operators.coreos.com"

// later returns the caches of kinds that a cluster may not have, by definition, with the version that is read.
func (c *ownCaches) later() map[string]laterCache {
	return map[string]laterCache{
		operatorsCRD: {"v1", c.operators.Informers, nil},
		informers.InstallPlans.GroupResource().String():             {informers.InstallPlans.Version, c.shared.Plans.Informers, c.shared.StartPlans},
		owners.OperatorConditions.Resource.GroupResource().String(): {owners.OperatorConditions.Resource.Version, c.conditions.Informers, nil},
	}
}

type laterCache struct {
	version   string
	informers []cache.SharedIndexInformer
	start     func() // nil: this package starts the informers
}

// fill starts the caches and waits until they are filled.
func (c *ownCaches) fill(ctx context.Context, definitions informers.Store[*apiextensionsv1.CustomResourceDefinition]) error {
	c.mutex.Lock()
	c.ctx = ctx
	c.mutex.Unlock()
	for _, informer := range append(c.subscriptions.Informers, c.configMaps.Informers...) {
		go informer.RunWithContext(ctx)
	}
	synced := []cache.InformerSynced{c.subscriptions.Synced, c.configMaps.Synced}
	for name := range c.later() {
		if c.startServed(definitions.Get("", name)) {
			synced = append(synced, func() bool { _, filled := c.state(name); return filled })
		}
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.New("stopped before the caches of Operators were filled")
	}
	return nil
}

// startServed starts the cache of a kind that the API server serves, once. A cache of a kind that is deleted waits until
// it is served again.
func (c *ownCaches) startServed(definition *apiextensionsv1.CustomResourceDefinition) (started bool) {
	if definition == nil {
		return false
	}
	later, known := c.later()[definition.Name]
	if !known || !apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established) || !apihelpers.HasServedCRDVersion(definition, later.version) {
		return false
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.ctx == nil || c.started[definition.Name] {
		return false
	}
	c.started[definition.Name] = true
	if later.start != nil {
		later.start()
		return true
	}
	for _, informer := range later.informers {
		go informer.RunWithContext(c.ctx)
	}
	return true
}

// state returns whether the cache of a kind has been started, and whether it is filled.
func (c *ownCaches) state(definition string) (started, filled bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	waits := slices.ContainsFunc(c.later()[definition].informers, func(informer cache.SharedIndexInformer) bool { return !informer.HasSynced() })
	return c.started[definition], c.started[definition] && !waits
}
