package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// config is what the Subscription of a ClusterServiceVersion configures.
func (c *versions) config(csv *operatorsv1alpha1.ClusterServiceVersion) subscriptions.Config {
	relatives := c.relativesIn(csv.Namespace)
	return subscriptions.ConfigOf(subscriptions.Find(csv, subscriptions.Lister{
		Naming: func(name string) []*operatorsv1alpha1.Subscription {
			return c.caches.Subscriptions.By(informers.ByNamed, csv.Namespace+"/"+name)
		},
		Named:     relatives.Named,
		Replacing: relatives.Replacing,
	}))
}

// subscriptionChanged matters to the ClusterServiceVersions that it configures, and to
// those that it does not configure any more: the versions that it names, or named, and
// their relatives.
func (c *eventHandlers) subscriptionChanged(before, after drift.Object) {
	if before != nil && after != nil && sameConfig(before.(*operatorsv1alpha1.Subscription), after.(*operatorsv1alpha1.Subscription)) {
		return
	}
	for _, s := range present(before, after) {
		for _, name := range subscriptions.CSVNames(s.(*operatorsv1alpha1.Subscription)) {
			// It may be gone, or not there yet.
			named := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: s.GetNamespace(), Name: name}}
			if cached := c.caches.CSVs.Get(s.GetNamespace(), name); cached != nil {
				named = cached
			}
			l := c.versions.lineage(named)
			for _, csv := range slices.Concat([]*operatorsv1alpha1.ClusterServiceVersion{named}, l.Older, l.Newer) {
				c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
			}
		}
	}
}

// sameConfig compares all that the cache keeps of a Subscription: catalogs update its
// status every few minutes.
func sameConfig(one, other *operatorsv1alpha1.Subscription) bool {
	return one.Status.InstalledCSV == other.Status.InstalledCSV && equality.Semantic.DeepEqual(one.Spec, other.Spec)
}
