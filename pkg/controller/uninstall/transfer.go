package uninstall

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// transferDelegations transfers the bindings to a version that serves APIServices, too. That
// version deletes the ones that it does not need.
func (u *Uninstaller) transferDelegations(ctx context.Context, successor *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, owned metav1.ListOptions, ownership owners.Ownership) error {
	if len(successor.Spec.APIServiceDefinitions.Owned) == 0 || !backends.ServesAny(successor) {
		return nil
	}
	return u.eachDelegation(ctx, owned, func(binding drift.Object) error {
		if !ownership.Proves(binding) {
			return nil
		}
		if reader, ok := binding.(*rbacv1.RoleBinding); ok {
			return relabel(ctx, u.Kube.RbacV1().RoleBindings(reader.Namespace), successor, reader)
		}
		return relabel(ctx, u.Kube.RbacV1().ClusterRoleBindings(), successor, binding.(*rbacv1.ClusterRoleBinding))
	})
}

// transferRegistrations transfers the registrations that an older version declares identically back
// to it, if the version that adopted them is deleted and the older one is not. An older version
// without a remaining backend gets none: no endpoint would serve them.
func (u *Uninstaller) transferRegistrations(ctx context.Context, csv, successor *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, owned metav1.ListOptions, ownership owners.Ownership) error {
	live, err := u.Live.Registrations(ctx, owned)
	if err != nil {
		return err
	}
	live = live.Proven(ownership)
	admission, same := u.Kube.AdmissionregistrationV1(), sameIn(csv, successor, backends)
	if err := transferTo(ctx, admission.ValidatingWebhookConfigurations(), successor, live.Validating, same, operatorsv1alpha1.ValidatingAdmissionWebhook); err != nil {
		return err
	}
	if err := transferTo(ctx, admission.MutatingWebhookConfigurations(), successor, live.Mutating, same, operatorsv1alpha1.MutatingAdmissionWebhook); err != nil {
		return err
	}
	if err := transferTo(ctx, u.Aggregator.ApiregistrationV1().APIServices(), successor, live.APIServices, same, csvspec.APIServiceType); err != nil {
		return err
	}
	return u.transferDelegations(ctx, successor, backends, owned, ownership)
}

// sameIn returns the webhooks that both versions declare identically and that the successor has a
// backend for.
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

// transferTo transfers the objects that register one of the same webhooks.
func transferTo[T drift.Object](ctx context.Context, client write.Resource[T], successor *operatorsv1alpha1.ClusterServiceVersion, live []T, same []csvspec.Identity, kind operatorsv1alpha1.WebhookAdmissionType) error {
	for _, o := range live {
		if !slices.ContainsFunc(same, func(i csvspec.Identity) bool { return i.Registers(kind, o) }) {
			continue
		}
		if err := relabel(ctx, client, successor, o); err != nil {
			return err
		}
	}
	return nil
}

// relabel sets the owner labels of another version under the observed resourceVersion.
func relabel[T drift.Object](ctx context.Context, client write.Resource[T], successor *operatorsv1alpha1.ClusterServiceVersion, live T) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "labels": csvspec.OwnerLabels(successor),
	}})
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, live.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	return err
}

// transferPermissions transfers lifted permissions to the version that continues after a deleted
// one, so that its pods keep their permissions. That version deletes the ones that it does not
// need.
func (u *Uninstaller) transferPermissions(ctx context.Context, csv, successor *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	if !u.LiftRoles || successor == nil {
		return nil
	}
	cluster, err := u.inCluster(ctx, liftedFor(csv))
	if err != nil {
		return err
	}
	namespaces, err := u.inNamespaces(ctx, liftedFor(csv))
	if err != nil {
		return err
	}
	for _, o := range owners.Proven(ownership, append(cluster, namespaces...)) {
		given := o.GetLabels()
		maps.Copy(given, csvspec.OwnerLabels(successor))
		o.SetLabels(given)
		if _, _, err := u.Writer.Send(ctx, csv.Namespace, rollout.Step{Verb: rollout.Update, Object: o}); err != nil {
			return err
		}
	}
	return nil
}
