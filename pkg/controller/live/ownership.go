package live

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// OwnershipOf reads the API server for the proof of ownership, with the objects that InstallPlans created.
func (r *Reader) OwnershipOf(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (owners.Ownership, error) {
	current, err := r.OLM.WebhookRollouts(csv.Namespace).Get(ctx, csv.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return owners.Ownership{}, err
	}
	services, err := r.Services(ctx, csv.Namespace)
	if err != nil {
		return owners.Ownership{}, err
	}
	// A client returns an empty object together with an error.
	o := owners.NewOwnership([]*operatorsv1alpha1.ClusterServiceVersion{csv}, services, current)
	plans, err := r.OLM.InstallPlans(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		o.Planned = owners.InstallPlanObjects(csv, plans.Items)
	} else if !apierrors.IsNotFound(err) { // a cluster without OLM does not have the kind
		return o, err
	}
	return o, nil
}
