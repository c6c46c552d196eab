package versions

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// ConfigOf returns the config of the Subscription of a ClusterServiceVersion.
func (r *Index) ConfigOf(csv *operatorsv1alpha1.ClusterServiceVersion) subscriptions.Config {
	relatives := r.relativesIn(csv.Namespace)
	return subscriptions.ConfigOf(subscriptions.Find(csv, subscriptions.Lister{
		Naming: func(name string) []*operatorsv1alpha1.Subscription {
			return r.Caches.Subscriptions.By(informers.ByNamed, csv.Namespace+"/"+name)
		},
		Named:     relatives.Named,
		Replacing: relatives.Replacing,
	}))
}
