package controller

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// tellProvidedAPIs writes the annotation by which a group tells what its operators own. It returns the group as
// it is then, nil when it is gone, and why the annotation is not as it should be.
func (c *groupReconciler) tellProvidedAPIs(ctx context.Context, k queue.Key, group *operatorsv1.OperatorGroup) (told *operatorsv1.OperatorGroup, why string, err error) {
	provided := scope.ProvidedAPIs(c.caches.CSVs.In(k.Namespace))
	if !scope.ProvidedAPIsDiffer(group, provided) {
		return group, "", nil
	}
	object, fields := records.FieldObject{Title: groupKey(k), UID: group.UID}, map[string]string{annotationField(operatorsv1.OperatorGroupProvidedAPIsAnnotationKey): provided}
	if held, until, why := c.contested.Held(object, fields, c.now()); len(held) > 0 {
		c.queue.AddAfter(k, until.Sub(c.now()))
		return group, why, nil
	}
	annotated, err := c.writeProvidedAPIs(ctx, group, provided)
	switch {
	case apierrors.IsNotFound(err):
		return nil, "", nil
	case err != nil && refused(err):
		return group, err.Error(), err
	case err != nil:
		return group, "", err
	}
	c.writes.Add(k, informers.Write{Object: annotated, At: c.now()})
	c.contested.Wrote(object, fields, c.now())
	if scope.ProvidedAPIsDiffer(annotated, provided) {
		why = records.TakenBack(slices.Collect(maps.Keys(fields)), "OperatorGroup")
		return annotated, why, errors.New(why)
	}
	return annotated, "", nil
}

func (c *groupReconciler) writeProvidedAPIs(ctx context.Context, group *operatorsv1.OperatorGroup, provided string) (*operatorsv1.OperatorGroup, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": group.UID, "resourceVersion": group.ResourceVersion,
		"annotations": map[string]any{operatorsv1.OperatorGroupProvidedAPIsAnnotationKey: provided},
	}})
	if err != nil {
		return nil, err
	}
	return c.OLM.OperatorsV1().OperatorGroups(group.Namespace).Patch(ctx, group.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
}

func groupKey(k queue.Key) string { return "OperatorGroup " + k.Namespace + "/" + k.Name }
