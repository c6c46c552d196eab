package provided

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/provider"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Watch calls changed with each ClusterServiceVersion that may provide another API since the permissions of its
// ServiceAccounts in all namespaces changed: by a binding, or by the rules of a bound ClusterRole. It adds handlers to the
// caches, and returns the error of an informer that was stopped.
func (a APIs) Watch(changed func(*operatorsv1alpha1.ClusterServiceVersion)) error {
	bound := func(binding drift.Object) {
		for _, subject := range informers.SubjectsOf(binding) {
			for _, csv := range a.Caches.CSVs.By(informers.BySubject, subject) {
				if provider.HasProvided(csv) {
					changed(csv)
				}
			}
		}
	}
	bindingChanged := func(before, after drift.Object) {
		for _, binding := range []drift.Object{before, after} {
			if binding != nil {
				bound(binding)
			}
		}
	}
	roleChanged := func(before, after drift.Object) {
		if before != nil && after != nil && equality.Semantic.DeepEqual(before.(*rbacv1.ClusterRole).Rules, after.(*rbacv1.ClusterRole).Rules) {
			return
		}
		role := after
		if role == nil {
			role = before
		}
		for _, binding := range a.Caches.ClusterRoleBindings.By(informers.ByRole, drift.KeyOf(role)) {
			bound(binding)
		}
	}
	if err := handle(a.Caches.ClusterRoleBindings.Informers, bindingChanged); err != nil {
		return err
	}
	return handle(a.Caches.ClusterRoles.Informers, roleChanged)
}

func handle(watched []cache.SharedIndexInformer, changed func(before, after drift.Object)) error {
	for _, informer := range watched {
		if _, err := informer.AddEventHandler(informers.Handler(changed)); err != nil {
			return err
		}
	}
	return nil
}
