package controller

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
)

// mirrorConditions copies what an operator says to the status, as OLM v0 does.
func (c *Controller) mirrorConditions(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) error {
	live, err := c.gather.OperatorCondition(csv)
	if live == nil || err != nil {
		return err
	}
	condition, err := gather.TypedCondition(live)
	if err != nil {
		return err
	}
	conditions, differ := lineage.Mirrored(condition)
	if !differ {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": condition.UID, "resourceVersion": condition.ResourceVersion},
		"status":   map[string]any{"conditions": conditions},
	})
	if err != nil {
		return err
	}
	_, err = c.Dynamic.Resource(owners.OperatorConditions.Resource).Namespace(csv.Namespace).Patch(ctx, csv.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: wellknown.FieldManager}, "status")
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
