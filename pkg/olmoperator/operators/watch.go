package operators

import (
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/operators/component"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// byPlan is an index of Subscriptions by their InstallPlan.
const byPlan = "plan"

func (c *Controller) register() {
	for _, k := range c.kinds {
		mustNotBeStopped(k.addIndex())
		c.watch(k.informers, c.componentChanged)
	}
	for _, informer := range c.own.subscriptions.Informers {
		mustNotBeStopped(informer.AddIndexers(cache.Indexers{byPlan: planKeys}))
	}
	c.watch(c.own.subscriptions.Informers, c.subscriptionChanged)
	c.watch(c.caches.Plans.Informers, c.planChanged)
	c.watch(c.own.operators.Informers, c.operatorChanged)
	c.watch(c.caches.CSVs.Informers, c.versionChanged)
	c.watch(c.caches.Rollouts.Informers, c.rolloutChanged)
	c.watch(c.caches.CRDs.Informers, c.definitionChanged)
	mustNotBeStopped(c.apis.Watch(func(csv *operatorsv1alpha1.ClusterServiceVersion) {
		c.versions.Add(cache.MetaObjectToName(csv))
	}))
}

func (c *Controller) watch(watched []cache.SharedIndexInformer, changed func(before, after drift.Object)) {
	for _, informer := range watched {
		_, err := informer.AddEventHandler(informers.Handler(changed))
		mustNotBeStopped(err)
	}
}

// Only a stopped informer refuses an index or a handler.
func mustNotBeStopped(err error) {
	if err != nil {
		panic(err)
	}
}

func planKeys(o any) ([]string, error) {
	s, ok := o.(*operatorsv1alpha1.Subscription)
	if !ok || s.Status.InstallPlanRef == nil {
		return nil, nil
	}
	return []string{cache.NewObjectName(s.Namespace, s.Status.InstallPlanRef.Name).String()}, nil
}

// statusDelay collects the changes of several components into one write of an Operator.
const statusDelay = time.Second

// componentChanged enqueues the Operators of an object, and the ClusterServiceVersion whose labels it should have.
func (c *Controller) componentChanged(before, after drift.Object) {
	for _, o := range present(before, after) {
		if isCopy(o) {
			continue
		}
		for _, operator := range component.OperatorsOf(o.GetLabels()) {
			c.operators.AddAfter(cache.NewObjectName("", operator), statusDelay)
		}
	}
	if after == nil || before != nil && sameMetadata(before, after) {
		return
	}
	for _, owner := range informers.OwnersOf(after) {
		for _, csv := range c.caches.CSVs.OfOwner(owner) {
			c.versions.Add(cache.MetaObjectToName(csv))
		}
	}
}

func sameMetadata(a, b drift.Object) bool {
	return a.GetUID() == b.GetUID() && equality.Semantic.DeepEqual(a.GetLabels(), b.GetLabels()) && equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences())
}

func (c *Controller) subscriptionChanged(_, after drift.Object) {
	if after != nil {
		c.subscriptions.Add(cache.MetaObjectToName(after))
	}
}

// planChanged enqueues the Subscriptions of an InstallPlan that is created or executed, or has lost a label, and the
// ClusterServiceVersions for which it has created roles or bindings.
func (c *Controller) planChanged(before, after drift.Object) {
	if after == nil {
		return
	}
	plan := after.(*operatorsv1alpha1.InstallPlan)
	if before == nil || !sameMetadata(before, after) || component.IsExecuted(before.(*operatorsv1alpha1.InstallPlan)) != component.IsExecuted(plan) {
		c.enqueueSubscriptionsOf(plan)
	}
	if before == nil || !equality.Semantic.DeepEqual(before.(*operatorsv1alpha1.InstallPlan).Status.Plan, plan.Status.Plan) {
		for _, step := range plan.Status.Plan {
			c.versions.Add(cache.NewObjectName(plan.Namespace, step.Resolving))
		}
	}
}

// enqueueSubscriptionsOf enqueues the Subscriptions that name an InstallPlan as their latest, and its owners: they named
// it before.
func (c *Controller) enqueueSubscriptionsOf(plan *operatorsv1alpha1.InstallPlan) {
	for _, s := range c.own.subscriptions.By(byPlan, cache.MetaObjectToName(plan).String()) {
		c.subscriptions.Add(cache.MetaObjectToName(s))
	}
	for _, owner := range plan.OwnerReferences {
		if groupkind.IsOwner(owner, groupkind.Subscription) {
			c.subscriptions.Add(cache.NewObjectName(plan.Namespace, owner.Name))
		}
	}
}

// rolloutChanged enqueues the ClusterServiceVersion for which the manager has created objects.
func (c *Controller) rolloutChanged(before, after drift.Object) {
	if after == nil || before != nil && equality.Semantic.DeepEqual(before.(*managerv1alpha1.WebhookRollout).Status.Created, after.(*managerv1alpha1.WebhookRollout).Status.Created) {
		return
	}
	c.versions.Add(cache.MetaObjectToName(after))
}

func (c *Controller) operatorChanged(before, after drift.Object) {
	c.operators.AddAfter(cache.MetaObjectToName(present(before, after)[0]), statusDelay)
}

func (c *Controller) versionChanged(before, after drift.Object) {
	if after == nil || isCopy(after) || before != nil && sameVersion(before.(*operatorsv1alpha1.ClusterServiceVersion), after.(*operatorsv1alpha1.ClusterServiceVersion)) {
		return
	}
	c.versions.Add(cache.MetaObjectToName(after))
	for _, s := range c.own.subscriptions.By(informers.ByNamed, cache.MetaObjectToName(after).String()) {
		c.subscriptions.Add(cache.MetaObjectToName(s))
	}
}

func sameVersion(a, b *operatorsv1alpha1.ClusterServiceVersion) bool {
	return sameMetadata(a, b) && a.Generation == b.Generation && a.Status.Phase == b.Status.Phase
}

// definitionChanged starts the cache of a kind that is served now, and enqueues the owners of a definition.
func (c *Controller) definitionChanged(before, after drift.Object) {
	if after == nil {
		return
	}
	crd := after.(*apiextensionsv1.CustomResourceDefinition)
	if c.own.startServed(crd) && crd.Name == operatorsCRD {
		c.enqueueOperators()
	}
	if before != nil && sameMetadata(before, after) && equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) {
		return
	}
	for _, csv := range c.caches.CSVs.By(informers.ByCRD, crd.Name) {
		c.versions.Add(cache.MetaObjectToName(csv))
	}
}

func (c *Controller) enqueueOperators() {
	for _, k := range c.kinds {
		for _, informer := range k.informers {
			for _, operator := range informer.GetIndexer().ListIndexFuncValues(byComponent) {
				c.operators.AddAfter(cache.NewObjectName("", operator), statusDelay)
			}
		}
	}
}

func present(before, after drift.Object) []drift.Object {
	var all []drift.Object
	for _, o := range []drift.Object{after, before} {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}
