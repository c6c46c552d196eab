package uninstall

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// transferDelegations is for a version with APIServices, which deletes the bindings that it does not need.
func (u *Uninstaller) transferDelegations(ctx context.Context, successor *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, owned metav1.ListOptions, ownership owners.Ownership) error {
	if len(successor.Spec.APIServiceDefinitions.Owned) == 0 || !backends.ServesAny(successor) {
		return nil
	}
	bindings, err := u.delegations(ctx, owned)
	if err != nil {
		return err
	}
	return u.relabel(ctx, rollout.Patch, successor, owners.Proven(ownership, bindings))
}

// transferRegistrations is for the older version that declares them identically and has a backend to serve them.
func (u *Uninstaller) transferRegistrations(ctx context.Context, csv, successor *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, owned metav1.ListOptions, ownership owners.Ownership) error {
	registrations, err := u.Live.Registrations(ctx, owned)
	if err != nil {
		return err
	}
	same := sameIn(csv, successor, backends)
	others := func(o drift.Object) bool {
		return !slices.ContainsFunc(same, func(i csvspec.Identity) bool { return i.Registers(registration.Of(o).Kind, o) })
	}
	kept := slices.DeleteFunc(owners.Proven(ownership, registrations.All()), others)
	if err := u.relabel(ctx, rollout.Patch, successor, kept); err != nil {
		return err
	}
	return u.transferDelegations(ctx, successor, backends, owned, ownership)
}

// sameIn requires a backend of the successor.
func sameIn(csv, successor *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends) []csvspec.Identity {
	var same []csvspec.Identity
	changes := render.Changes(csv, successor)
	for _, spec := range csvspec.Deployments(successor) {
		for _, d := range csvspec.Descriptions(successor, spec.Name) {
			if identity := csvspec.IdentityOf(d); changes[identity] == render.Same && backends.Serve(successor, spec.Name) {
				same = append(same, identity)
			}
		}
	}
	return same
}

func (u *Uninstaller) relabel(ctx context.Context, verb rollout.Verb, successor *operatorsv1alpha1.ClusterServiceVersion, objects []drift.Object) error {
	var steps []rollout.Step
	for _, o := range objects {
		o.SetLabels(labels.Merge(o.GetLabels(), csvspec.OwnerLabels(successor)))
		steps = append(steps, rollout.Step{Verb: verb, Object: o})
	}
	_, err := u.send(ctx, successor.Namespace, steps)
	return err
}

// transferPermissions is for the version that continues: its pods keep their permissions. It deletes the others.
func (u *Uninstaller) transferPermissions(ctx context.Context, csv, successor *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	if !u.LiftRoles || successor == nil {
		return nil
	}
	lifted, err := u.permissions(ctx, liftedFor(csv))
	if err != nil {
		return err
	}
	return u.relabel(ctx, rollout.Update, successor, owners.Proven(ownership, lifted))
}
