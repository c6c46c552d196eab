package actors

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// CollectGarbage is one round of the garbage collector: it deletes the objects all of whose owners do not exist, by uid, and finishes
// deletions in the foreground and deletions that orphan. It returns how many objects it changed or deleted.
func (a *Actors) CollectGarbage(ctx context.Context) (changed int, err error) {
	all, err := a.list(ctx, metav1.NamespaceAll, func(r resource) bool { return r.Resource != "events" })
	if err != nil {
		return 0, err
	}
	g := graph{exists: map[types.UID]found{}, dependents: map[types.UID][]found{}}
	for _, o := range all {
		g.exists[o.UID] = o
		for _, owner := range o.OwnerReferences {
			g.dependents[owner.UID] = append(g.dependents[owner.UID], o)
		}
	}
	var errs []error
	for _, o := range all {
		did, err := a.collect(ctx, g, o)
		if did {
			changed++
		}
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			errs = append(errs, err)
		}
	}
	return changed, errors.Join(errs...)
}

// graph is what is known about owners.
type graph struct {
	exists     map[types.UID]found
	dependents map[types.UID][]found
}

// absent reports whether an owner does not exist. One in another namespace is no owner.
func (g graph) absent(o found, owner metav1.OwnerReference) bool {
	existing, ok := g.exists[owner.UID]
	return !ok || existing.Namespace != "" && existing.Namespace != o.Namespace
}

func (a *Actors) collect(ctx context.Context, g graph, o found) (bool, error) {
	switch {
	case slices.Contains(o.Finalizers, metav1.FinalizerOrphanDependents):
		return true, a.orphan(ctx, g, o)
	case slices.Contains(o.Finalizers, metav1.FinalizerDeleteDependents):
		return a.deleteDependents(ctx, g, o)
	case len(o.OwnerReferences) == 0 || o.DeletionTimestamp != nil:
		return false, nil
	}
	for _, owner := range o.OwnerReferences {
		if !g.absent(o, owner) {
			return false, nil
		}
	}
	return true, a.delete(ctx, o, metav1.DeletePropagationBackground)
}

func (a *Actors) delete(ctx context.Context, o found, propagation metav1.DeletionPropagation) error {
	return a.of(o).Delete(ctx, o.Name, metav1.DeleteOptions{PropagationPolicy: &propagation, Preconditions: metav1.NewUIDPreconditions(string(o.UID))})
}

// deleteDependents deletes the dependents that block the deletion of their owner, and completes its deletion when there are none.
func (a *Actors) deleteDependents(ctx context.Context, g graph, o found) (bool, error) {
	blocked, changed := false, false
	var errs []error
	for _, d := range g.dependents[o.UID] {
		blocked = true
		if d.DeletionTimestamp == nil {
			changed = true
			errs = append(errs, a.delete(ctx, d, metav1.DeletePropagationForeground))
		}
	}
	if blocked {
		return changed, errors.Join(errs...)
	}
	return true, a.unfinalize(ctx, o, metav1.FinalizerDeleteDependents)
}

func (a *Actors) orphan(ctx context.Context, g graph, o found) error {
	var errs []error
	for _, d := range g.dependents[o.UID] {
		rest := slices.DeleteFunc(slices.Clone(d.OwnerReferences), func(r metav1.OwnerReference) bool { return r.UID == o.UID })
		errs = append(errs, a.patch(ctx, d, map[string]any{"ownerReferences": rest}))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return a.unfinalize(ctx, o, metav1.FinalizerOrphanDependents)
}

func (a *Actors) unfinalize(ctx context.Context, o found, finalizer string) error {
	rest := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f == finalizer })
	return a.patch(ctx, o, map[string]any{"finalizers": rest})
}

// patch changes metadata of the version of the object that was read.
func (a *Actors) patch(ctx context.Context, o found, metadata map[string]any) error {
	metadata["uid"], metadata["resourceVersion"] = o.UID, o.ResourceVersion
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = a.of(o).Patch(ctx, o.Name, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}
