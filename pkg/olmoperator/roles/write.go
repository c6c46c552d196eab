package roles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/roles/clusterrole"
)

// writer writes the ClusterRoles of one object, and collects why it cannot.
type writer struct {
	*Controller
	by       waiting
	owner    types.UID // of ClusterRoles without an owner reference
	problems []string
	errs     []error
}

func (w *writer) err() error { return errors.Join(w.errs...) }

// write creates or changes one ClusterRole. A ClusterRole that cannot be written does not block the others.
func (w *writer) write(ctx context.Context, desired *rbacv1.ClusterRole) {
	live, err := w.live(ctx, desired.Name)
	switch {
	case err != nil:
		w.failed(desired, err)
	case live == nil:
		w.create(ctx, desired)
	case !clusterrole.Belongs(desired, live):
		w.taken.wait(desired.Name, w.by)
		if !clusterrole.Suffices(desired, live) {
			w.problems = append(w.problems, fmt.Sprintf("ClusterRole %s belongs to another owner and does not have the rules and labels that OLM users expect: delete it, or rename it", desired.Name))
		}
	default:
		w.change(ctx, desired, live)
	}
}

// live reads a ClusterRole without the label of derived objects from the API server: the cache does not keep its labels
// and owners.
func (w *writer) live(ctx context.Context, name string) (*rbacv1.ClusterRole, error) {
	role := w.caches.ClusterRoles.Get("", name)
	if role == nil || csvspec.IsManaged(role) {
		return role, nil
	}
	role, err := w.kube.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return role, err
}

func (w *writer) create(ctx context.Context, desired *rbacv1.ClusterRole) {
	fields := map[string]string{"metadata.name": string(w.ownerOf(desired))}
	if w.paused(desired, fields) {
		return
	}
	_, err := w.kube.RbacV1().ClusterRoles().Create(ctx, desired, metav1.CreateOptions{FieldManager: wellknown.FieldManager})
	switch {
	case apierrors.IsAlreadyExists(err):
		w.taken.wait(desired.Name, w.by) // until the cache contains it
	case err != nil:
		w.failed(desired, err)
	default:
		w.contests.Wrote(contested(desired), fields, w.now())
	}
}

// ownerOf distinguishes a deleted ClusterRole from one whose owner was recreated.
func (w *writer) ownerOf(desired *rbacv1.ClusterRole) types.UID {
	for _, owner := range desired.OwnerReferences {
		return owner.UID
	}
	return w.owner
}

func (w *writer) change(ctx context.Context, desired, live *rbacv1.ClusterRole) {
	change := clusterrole.Between(desired, live)
	if change.None() {
		return
	}
	fields := change.Fields(desired)
	if w.paused(desired, fields) {
		return
	}
	patch, err := json.Marshal(change.Patch(desired, live))
	if err == nil {
		_, err = w.kube.RbacV1().ClusterRoles().Patch(ctx, desired.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	}
	switch {
	case apierrors.IsNotFound(err): // its deletion is an event
	case err != nil:
		w.failed(desired, err)
	default:
		w.contests.Wrote(contested(desired), fields, w.now())
	}
}

// contested counts the repairs of a ClusterRole by its name: a client may delete it each time.
func contested(role *rbacv1.ClusterRole) records.FieldObject {
	return records.FieldObject{Title: "ClusterRole " + role.Name}
}

// paused reports whether another client reverted the same write too often. The write is repeated after the pause.
func (w *writer) paused(desired *rbacv1.ClusterRole, fields map[string]string) bool {
	held, until, why := w.contests.Held(contested(desired), fields, w.now())
	if len(held) == 0 {
		return false
	}
	w.problems = append(w.problems, why)
	w.by.loop.AddAfter(w.by.object, max(until.Sub(w.now()), time.Second))
	return true
}

func (w *writer) failed(desired *rbacv1.ClusterRole, err error) {
	if write.IsRefused(err) {
		w.problems = append(w.problems, fmt.Sprintf("ClusterRole %s cannot be written: %s", desired.Name, write.Text(err)))
	}
	w.errs = append(w.errs, fmt.Errorf("ClusterRole %s: %w", desired.Name, err))
}

// deleteRole deletes exactly the version that the cache shows.
func (c *Controller) deleteRole(ctx context.Context, role *rbacv1.ClusterRole) error {
	err := c.kube.RbacV1().ClusterRoles().Delete(ctx, role.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &role.UID, ResourceVersion: &role.ResourceVersion},
	})
	return utilerrors.FilterOut(err, apierrors.IsNotFound)
}
