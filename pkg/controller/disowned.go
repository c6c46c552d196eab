package controller

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// disowned tells whether the steps would write to objects that a deletion of their
// ClusterServiceVersion has orphaned. The caches may show that before they show the deletion. Who made the
// ClusterServiceVersion their owner again would have the garbage collector delete them with it.
func (c *executor) disowned(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, steps []rollout.Step) (bool, error) {
	lostOwner := func(step rollout.Step) bool {
		return step.Live != nil && csvspec.HasOwnerLabels(step.Live, csv) && !csvspec.Owns(csv, step.Live) && csvspec.Owns(csv, step.Object)
	}
	if !slices.ContainsFunc(steps, lostOwner) {
		return false, nil
	}
	list, err := c.OLM.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, csv.Name).String(),
	})
	if err != nil {
		return false, err
	}
	stays := slices.ContainsFunc(list.Items, func(live operatorsv1alpha1.ClusterServiceVersion) bool {
		return live.UID == csv.UID && live.DeletionTimestamp == nil
	})
	return !stays, nil
}
