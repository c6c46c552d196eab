package versions

import (
	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// OwnershipOf returns the proof of ownership from the caches.
func (r *Index) OwnershipOf(versions ...*operatorsv1alpha1.ClusterServiceVersion) owners.Ownership {
	var services []*corev1.Service
	var rollouts []*managerv1alpha1.WebhookRollout
	for _, csv := range versions {
		if current := r.Caches.Rollouts.Get(csv.Namespace, csv.Name); current != nil {
			rollouts = append(rollouts, current)
		}
		services = append(services, r.Caches.Services.OfOwner(informers.OwnerID(csv.Namespace, csv.Name))...)
	}
	return owners.NewOwnership(versions, services, rollouts...)
}
