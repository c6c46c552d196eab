// Package groups reconciles OperatorGroups, and the labels of Namespaces.
package groups

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/watch"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Reconciler reconciles OperatorGroups and the labels of Namespaces.
type Reconciler struct {
	clients.Set
	Namespaces []string
	Caches     *informers.Caches
	Contested  *records.FieldContests
	Events     record.EventRecorder
	Now        func() time.Time
	Queue      queue.Queue
	Unlabelled *records.LabelRefusals
	Writes     *informers.Expectations
	Handlers   *watch.Handlers
	Versions   *versions.Reader
}

// ReconcileGroup updates the status of an OperatorGroup.
func (r *Reconciler) ReconcileGroup(ctx context.Context, k queue.Key) error {
	if r.Caches.Groups.Get(k.Namespace, k.Name) == nil || !r.Versions.InScope(k.Namespace) {
		return nil
	}
	if !r.Writes.Fulfilled(k, r.Caches, r.Now()) {
		return informers.ErrStale
	}
	group := r.Caches.Groups.Get(k.Namespace, k.Name) // with what was written
	if group == nil {
		return nil
	}
	group, why, refusal := r.updateProvidedAPIs(ctx, k, group)
	if refusal != nil && why == "" || group == nil {
		return refusal
	}
	account := r.Caches.Accounts.Get(k.Namespace, group.Spec.ServiceAccountName)
	status, changed := scope.GroupStatus(group, r.Caches.Groups.In(k.Namespace), r.Versions.NamespacesFor(group), account, scope.Refused{Labels: r.Unlabelled.Of(scope.LabelOf(group)), ProvidedAPIs: why}, r.Now())
	if !changed {
		return refusal
	}
	object, fields := groupObject(group), records.GroupStatusFields(status)
	if held, until, _ := r.Contested.Held(object, fields, r.Now()); len(held) > 0 {
		r.Queue.AddAfter(k, until.Sub(r.Now()))
		return refusal
	}
	updated := group.DeepCopy()
	updated.Status = status
	written, err := r.OLM.OperatorsV1().OperatorGroups(k.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	if err != nil {
		return err
	}
	r.Contested.Wrote(object, fields, r.Now())
	if contest := r.Contested.Of(object); contest.Contested() {
		r.Events.Event(group, corev1.EventTypeWarning, managerv1alpha1.ConditionContested, contest.Message(object.Title, r.Now()))
	}
	r.Writes.Add(k, informers.Write{Object: written, At: r.Now()})
	return refusal
}

func groupObject(group *operatorsv1.OperatorGroup) records.FieldObject {
	return records.FieldObject{Title: operatorsv1.OperatorGroupKind + " " + group.Namespace + "/" + group.Name, UID: group.UID}
}

// updateProvidedAPIs writes the annotation with the APIs of the group's operators. It returns the
// updated group, nil if it is deleted, and why the annotation is not as desired.
func (r *Reconciler) updateProvidedAPIs(ctx context.Context, k queue.Key, group *operatorsv1.OperatorGroup) (updated *operatorsv1.OperatorGroup, why string, err error) {
	provided := scope.ProvidedAPIs(r.Caches.CSVs.In(k.Namespace))
	if !scope.ProvidedAPIsDiffer(group, provided) {
		return group, "", nil
	}
	object, fields := records.FieldObject{Title: groupKey(k), UID: group.UID}, map[string]string{records.AnnotationField(operatorsv1.OperatorGroupProvidedAPIsAnnotationKey): provided}
	if held, until, why := r.Contested.Held(object, fields, r.Now()); len(held) > 0 {
		r.Queue.AddAfter(k, until.Sub(r.Now()))
		return group, why, nil
	}
	annotated, err := r.writeProvidedAPIs(ctx, group, provided)
	switch {
	case apierrors.IsNotFound(err):
		return nil, "", nil
	case err != nil && write.IsRefused(err):
		return group, err.Error(), err
	case err != nil:
		return group, "", err
	}
	r.Writes.Add(k, informers.Write{Object: annotated, At: r.Now()})
	r.Contested.Wrote(object, fields, r.Now())
	if scope.ProvidedAPIsDiffer(annotated, provided) {
		why = drift.RevertedByAdmission(slices.Collect(maps.Keys(fields)), "OperatorGroup")
		return annotated, why, errors.New(why)
	}
	return annotated, "", nil
}

func (r *Reconciler) writeProvidedAPIs(ctx context.Context, group *operatorsv1.OperatorGroup, provided string) (*operatorsv1.OperatorGroup, error) {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": group.UID, "resourceVersion": group.ResourceVersion,
		"annotations": map[string]any{operatorsv1.OperatorGroupProvidedAPIsAnnotationKey: provided},
	}})
	if err != nil {
		return nil, err
	}
	return r.OLM.OperatorsV1().OperatorGroups(group.Namespace).Patch(ctx, group.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
}

func groupKey(k queue.Key) string { return "OperatorGroup " + k.Namespace + "/" + k.Name }
