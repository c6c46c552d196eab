// Package groups reconciles OperatorGroups, and the labels of Namespaces.
package groups

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/watch"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Reconciler reconciles OperatorGroups and the labels of Namespaces.
type Reconciler struct {
	clients.Set
	*write.Status
	Namespaces    []string
	Caches        *informers.Caches
	Queue         queue.Queue
	LabelRefusals *records.LabelRefusals
	Handlers      *watch.Handlers
	Versions      *versions.Index
}

// ReconcileGroup updates the annotation and the status of an OperatorGroup.
func (r *Reconciler) ReconcileGroup(ctx context.Context, k queue.Key) (rollout.Requeue, error) {
	if r.Caches.Groups.Get(k.Namespace, k.Name) == nil || !r.Versions.InScope(k.Namespace) {
		return rollout.Requeue{}, nil
	}
	if !r.Writes.Fulfilled(k, r.Caches, r.Now()) {
		return rollout.Requeue{}, informers.ErrStale
	}
	group := r.Caches.Groups.Get(k.Namespace, k.Name) // with what was written
	if group == nil {
		return rollout.Requeue{}, nil
	}
	group, why, annotatedAt, refusal := r.updateProvidedAPIs(ctx, k, group)
	if refusal != nil && why == "" || group == nil {
		return rollout.Requeue{}, refusal
	}
	requeue, err := r.updateStatus(ctx, k, group, why)
	return requeue.Earliest(annotatedAt), cmp.Or(err, refusal)
}

// updateStatus writes a status that differs. why is the reason why the annotation is not as desired.
func (r *Reconciler) updateStatus(ctx context.Context, k queue.Key, group *operatorsv1.OperatorGroup, why string) (rollout.Requeue, error) {
	account := r.Caches.Accounts.Get(k.Namespace, group.Spec.ServiceAccountName)
	refused := scope.Refused{Labels: r.LabelRefusals.Of(scope.LabelOf(group)), ProvidedAPIs: why}
	status, changed := scope.GroupStatus(group, r.Caches.Groups.In(k.Namespace), r.Versions.NamespacesFor(group), account, refused, r.Now())
	if !changed {
		return rollout.Requeue{}, nil
	}
	_, requeue, err := r.Write(k, records.FieldObjectOf(operatorsv1.OperatorGroupKind, group), records.GroupStatusFields(status), group, func() (drift.Object, error) {
		updated := group.DeepCopy()
		updated.Status = status
		return r.OLM.OperatorGroups(k.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	})
	return requeue, err
}

// updateProvidedAPIs returns the group, nil if it is deleted; why the annotation is not as desired; and when to
// write an annotation that another client contests.
func (r *Reconciler) updateProvidedAPIs(ctx context.Context, k queue.Key, group *operatorsv1.OperatorGroup) (updated *operatorsv1.OperatorGroup, why string, at rollout.Requeue, err error) {
	provided := scope.ProvidedAPIs(group, r.Caches.CSVs.In(k.Namespace))
	if !scope.ProvidedAPIsDiffer(group, provided) {
		return group, "", at, nil
	}
	object, fields := records.FieldObjectOf(operatorsv1.OperatorGroupKind, group), map[string]string{records.AnnotationField(operatorsv1.OperatorGroupProvidedAPIsAnnotationKey): provided}
	if held, until, why := r.FieldContests.Held(object, fields, r.Now()); len(held) > 0 {
		return group, why, rollout.Requeue{At: until, Reason: why}, nil
	}
	annotated, err := write.Metadata(ctx, r.OLM.OperatorGroups(group.Namespace), group, map[string]any{
		"annotations": map[string]any{operatorsv1.OperatorGroupProvidedAPIsAnnotationKey: provided},
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, "", at, nil
	case err != nil && write.IsRefused(err):
		return group, write.Text(err), at, err
	case err != nil:
		return group, "", at, err
	}
	r.Writes.Add(k, informers.Write{Object: annotated, At: r.Now()})
	r.FieldContests.Wrote(object, fields, r.Now())
	if scope.ProvidedAPIsDiffer(annotated, provided) {
		why = drift.RevertedByAdmission(slices.Collect(maps.Keys(fields)), "OperatorGroup")
		return annotated, why, at, errors.New(why)
	}
	return annotated, "", at, nil
}
