package rollout

import (
	"cmp"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Created are the objects of the ClusterServiceVersion that no garbage collection removes, with
// the uids by which they are known when it is deleted. What older versions still have is
// recorded for them.
func (o Observed) Created(csv *operatorsv1alpha1.ClusterServiceVersion) []managerv1alpha1.CreatedObject {
	var all []managerv1alpha1.CreatedObject
	note := func(live drift.Object) {
		if csvspec.HasOwnerLabels(live, csv) && live.GetUID() != "" {
			all = append(all, managerv1alpha1.CreatedObject{Kind: drift.KindOf(live), Namespace: live.GetNamespace(), Name: live.GetName(), UID: live.GetUID()})
		}
	}
	for _, live := range o.registrations() {
		note(live.Object)
	}
	for _, live := range o.delegations() {
		note(live)
	}
	for _, live := range o.Lifted {
		note(live)
	}
	slices.SortFunc(all, func(a, b managerv1alpha1.CreatedObject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return slices.Compact(all)
}
