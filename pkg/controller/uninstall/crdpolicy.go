package uninstall

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// deleteCRDPolicy deletes the policy for CustomResourceDefinitions, which a manager of all namespaces created. Without
// the manager, it would keep conversions that no client maintains, and hold versions for ever. The API server stops
// to apply the policy when the binding is deleted.
func (u *Uninstaller) deleteCRDPolicy(ctx context.Context) error {
	if len(u.Namespaces) > 0 {
		return nil
	}
	admission := u.Kube.AdmissionregistrationV1()
	if err := deleteOwn(ctx, admission.MutatingAdmissionPolicyBindings()); err != nil {
		return err
	}
	return deleteOwn(ctx, admission.MutatingAdmissionPolicies())
}

// deleteOwn ignores a kind that the API server does not serve.
func deleteOwn[O drift.Object](ctx context.Context, client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
},
) error {
	live, err := client.Get(ctx, policy.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case !policy.IsOwn(live):
		return nil
	}
	err = client.Delete(ctx, live.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(live.GetUID()))})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
