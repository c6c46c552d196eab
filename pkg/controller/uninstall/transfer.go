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

// transferDelegations gives them to a version that serves APIServices, too. Those that it
// does not need it takes away itself.
func (u *Uninstaller) transferDelegations(ctx context.Context, heir *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, owned metav1.ListOptions, ownership owners.Ownership) error {
	if len(heir.Spec.APIServiceDefinitions.Owned) == 0 || !backends.ServesAny(heir) {
		return nil
	}
	return u.eachDelegation(ctx, owned, func(binding drift.Object) error {
		if !ownership.Proves(binding) {
			return nil
		}
		if reader, ok := binding.(*rbacv1.RoleBinding); ok {
			return relabel(ctx, u.Kube.RbacV1().RoleBindings(reader.Namespace), heir, reader)
		}
		return relabel(ctx, u.Kube.RbacV1().ClusterRoleBindings(), heir, binding.(*rbacv1.ClusterRoleBinding))
	})
}

// transferRegistrations gives the registrations that an older version has declared just as they are
// to it: the version that took them over is on its way out, and they are not. An older version
// without a backend that stays gets none of them: nobody would serve it.
func (u *Uninstaller) transferRegistrations(ctx context.Context, csv, heir *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, owned metav1.ListOptions, ownership owners.Ownership) error {
	live, err := u.Live.Registrations(ctx, owned)
	if err != nil {
		return err
	}
	live = live.Proven(ownership)
	admission, same := u.Kube.AdmissionregistrationV1(), sameIn(csv, heir, backends)
	if err := transferTo(ctx, admission.ValidatingWebhookConfigurations(), heir, live.Validating, same, operatorsv1alpha1.ValidatingAdmissionWebhook); err != nil {
		return err
	}
	if err := transferTo(ctx, admission.MutatingWebhookConfigurations(), heir, live.Mutating, same, operatorsv1alpha1.MutatingAdmissionWebhook); err != nil {
		return err
	}
	if err := transferTo(ctx, u.Aggregator.ApiregistrationV1().APIServices(), heir, live.APIServices, same, csvspec.APIServiceType); err != nil {
		return err
	}
	return u.transferDelegations(ctx, heir, backends, owned, ownership)
}

// sameIn is what two versions declare alike, as far as the heir has a backend for it.
func sameIn(csv, heir *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends) []csvspec.Identity {
	var same []csvspec.Identity
	changes := render.Changes(csv, heir)
	for _, spec := range csvspec.Deployments(heir) {
		for _, d := range csvspec.Descriptions(heir, spec.Name) {
			if identity := csvspec.IdentityOf(d); changes[identity] == render.Same && backends.Serve(heir, spec.Name) {
				same = append(same, identity)
			}
		}
	}
	return same
}

// transferTo gives the heir those objects that register one of the same.
func transferTo[T drift.Object](ctx context.Context, client write.Resource[T], heir *operatorsv1alpha1.ClusterServiceVersion, live []T, same []csvspec.Identity, kind operatorsv1alpha1.WebhookAdmissionType) error {
	for _, o := range live {
		if !slices.ContainsFunc(same, func(i csvspec.Identity) bool { return i.Registers(kind, o) }) {
			continue
		}
		if err := relabel(ctx, client, heir, o); err != nil {
			return err
		}
	}
	return nil
}

// relabel puts an object into the hands of another version, if it is still what was
// looked at.
func relabel[T drift.Object](ctx context.Context, client write.Resource[T], heir *operatorsv1alpha1.ClusterServiceVersion, live T) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "labels": csvspec.OwnerLabels(heir),
	}})
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, live.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	return err
}

// transferPermissions gives what was lifted to the version that goes on in the place of one
// that is on its way out: its pods keep their permissions all the while. What it does not
// need it takes away itself.
func (u *Uninstaller) transferPermissions(ctx context.Context, csv, heir *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	if !u.LiftRoles || heir == nil {
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
		maps.Copy(given, csvspec.OwnerLabels(heir))
		o.SetLabels(given)
		if _, _, err := u.Writer.Send(ctx, csv.Namespace, rollout.Step{Verb: rollout.Update, Object: o}); err != nil {
			return err
		}
	}
	return nil
}
