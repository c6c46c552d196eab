package olm

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// With manual approval, each version waits for its plan to be approved. The Subscription names a version that is not the
// newest, so this version is installed first.
func TestManualApproval(t *testing.T) {
	e, o := newExample(t, "volumelabels")
	v1 := e.example(o.bundle).Release("0.1.0")
	v2 := v1.Release("0.2.0")
	e.serve(packageOf(catalog.Chain(stable, v1, v2), v1, v2))
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{
		Package: v1.Package, Channel: stable, StartingCSV: v1.Name(), InstallPlanApproval: operatorsv1alpha1.ApprovalManual,
	})
	first := e.waitingPlan(v1.Name())
	installtest.Same(t, "versions before the approval", nil, e.versions())
	e.approve(first)
	e.succeeds(v1.Name())
	load := o.load(e)

	second := e.waitingPlan(v2.Name())
	load.GoesOn(o.answer)
	e.succeeds(v1.Name())
	installtest.Same(t, "versions before the second approval", []string{v1.Name()}, e.versions())
	e.approve(first) // which is complete
	e.approve(second)
	e.installs(v1.Package, v2.Name())
	e.approve(second)
	e.isGone(v1.Name())
	load.GoesOn(o.answer)
	load.End(calls.Never)
	e.succeeds(v2.Name())
}

// waitingPlan waits until an InstallPlan of a version requires approval.
func (e *env) waitingPlan(csv string) (name string) {
	e.Helper()
	e.eventually(fmt.Sprintf("a plan of %s requires approval", csv), func() (bool, any) {
		plans := kube.List(e, olmClient.InstallPlans(e.namespace), metav1.ListOptions{}).Items
		i := slices.IndexFunc(plans, func(p operatorsv1alpha1.InstallPlan) bool {
			return p.Status.Phase == operatorsv1alpha1.InstallPlanPhaseRequiresApproval && slices.Equal(p.Spec.ClusterServiceVersionNames, []string{csv})
		})
		if i >= 0 {
			name = plans[i].Name
		}
		return i >= 0, plans
	})
	return name
}

func (e *env) approve(plan string) {
	e.Helper()
	kube.Patch(e, olmClient.InstallPlans(e.namespace), plan, types.MergePatchType, []byte(`{"spec":{"approved":true}}`))
}
