package groups

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// ReconcileNamespace updates the labels of one Namespace: a refused change does not delay the labels of others.
func (r *Reconciler) ReconcileNamespace(ctx context.Context, k queue.Key) (requeue rollout.Requeue, err error) {
	if r.Caches.Namespaces.Get("", k.Name) != nil && !r.Writes.Fulfilled(k, r.Caches, r.Now()) {
		return requeue, informers.ErrStale
	}
	namespace := r.Caches.Namespaces.Get("", k.Name) // with what was written
	if namespace == nil {
		r.enqueueLabels(r.LabelRefusals.Accepted(k.Name))
		return requeue, nil
	}
	add, remove := r.labelChanges(namespace)
	held, until, contest := r.FieldContests.Held(records.FieldObjectOf("Namespace", namespace), labelFields(add, remove), r.Now())
	if len(held) > 0 {
		requeue = rollout.Requeue{At: until, Reason: contest}
	}
	err = r.label(ctx, k, namespace, without(add, held), without(remove, held))
	r.enqueueLabels(r.recordRefusal(namespace.Name, slices.Concat(add, remove), contest, err))
	return requeue, err
}

func (r *Reconciler) labelChanges(namespace *corev1.Namespace) (add, remove []string) {
	desired := scope.LabelsOf(slices.DeleteFunc(r.Versions.GroupsOf(namespace), func(g *operatorsv1.OperatorGroup) bool { return !r.Versions.InScope(g.Namespace) }))
	add, remove = desired.Change(namespace)
	if len(r.Namespaces) == 0 {
		remove = append(remove, desired.Orphaned(namespace)...)
	}
	// A registered webhook must not lose a Namespace because its group was deleted.
	return add, slices.DeleteFunc(remove, func(label string) bool { return r.isSelected(label) && !r.isDesired(label) })
}

func without(labels, held []string) []string {
	return slices.DeleteFunc(slices.Clone(labels), func(label string) bool { return slices.Contains(held, labelField(label)) })
}

func labelField(label string) string { return "metadata.labels." + label }

func labelFields(add, remove []string) map[string]string {
	fields := map[string]string{}
	for _, label := range add {
		fields[labelField(label)] = "added"
	}
	for _, label := range remove {
		fields[labelField(label)] = ""
	}
	return fields
}

// recordRefusal returns the labels whose record has changed.
func (r *Reconciler) recordRefusal(namespace string, labels []string, contest string, err error) []string {
	switch {
	case err == nil && contest != "":
		return r.LabelRefusals.Refused(namespace, labels, contest)
	case err == nil:
		return r.LabelRefusals.Accepted(namespace)
	case !write.IsRefused(err) && !write.IsUnanswered(err):
		return nil
	default:
		return r.LabelRefusals.Refused(namespace, labels, write.Text(err))
	}
}

// enqueueLabels enqueues what reports the Namespaces without a label.
func (r *Reconciler) enqueueLabels(labels []string) {
	for _, label := range labels {
		for _, group := range r.Caches.Groups.By(informers.ByGroupLabel, label) {
			r.Queue.Add(queue.GroupKey(group.Namespace, group.Name))
			r.Handlers.EnqueueCSVsIn(group.Namespace)
		}
	}
}

func (r *Reconciler) label(ctx context.Context, k queue.Key, namespace *corev1.Namespace, add, remove []string) error {
	if len(add)+len(remove) == 0 {
		return nil
	}
	labels := map[string]any{}
	for _, label := range add {
		labels[label] = ""
	}
	for _, label := range remove {
		labels[label] = nil
	}
	labelled, err := write.Metadata(ctx, r.Kube.CoreV1().Namespaces(), namespace, map[string]any{"labels": labels})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	r.Writes.Add(k, informers.Write{Object: labelled, At: r.Now()})
	r.FieldContests.Wrote(records.FieldObjectOf("Namespace", namespace), labelFields(add, remove), r.Now())
	return revertedLabels(labelled, add, remove)
}

// revertedLabels returns an error if admission reverted the change.
func revertedLabels(written *corev1.Namespace, add, remove []string) error {
	back := slices.DeleteFunc(slices.Concat(add, remove), func(label string) bool {
		_, exists := written.Labels[label]
		return exists == slices.Contains(add, label)
	})
	if len(back) == 0 {
		return nil
	}
	return apierrors.NewForbidden(corev1.Resource("namespaces"), written.Name, errors.New(drift.RevertedByAdmission(back, "Namespace")))
}

// isSelected reports whether registrations select Namespaces by a label.
func (r *Reconciler) isSelected(label string) bool {
	return len(r.Caches.Validating.By(informers.ByGroupLabel, label))+len(r.Caches.Mutating.By(informers.ByGroupLabel, label)) > 0
}

// isDesired reads the spec: the status of a group may belong to a previous spec.
func (r *Reconciler) isDesired(label string) bool {
	return slices.ContainsFunc(r.Caches.Groups.By(informers.ByGroupLabel, label), func(g *operatorsv1.OperatorGroup) bool {
		if g.DeletionTimestamp != nil {
			return false
		}
		targets, err := scope.Targets(g, r.Versions.NamespacesFor(g))
		return err == nil && !slices.Contains(targets, metav1.NamespaceAll)
	})
}
