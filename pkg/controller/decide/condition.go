package decide

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// conditionStep returns the write of an OperatorCondition that is not as desired. What its operator and
// administrators have written in it stays.
func (d *decision) conditionStep(desired *render.Condition) (*rollout.Step, error) {
	if desired == nil {
		return nil, nil
	}
	if d.Condition.Supported && !d.Condition.Cached {
		return nil, errStale
	}
	live := d.Condition.Live
	wanted, err := unstructuredOf(desired.Object)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(wanted.Object, "status")
	switch {
	case live == nil:
		return &rollout.Step{Verb: rollout.Create, Object: wanted}, nil
	case !csvspec.OwnedBy(live, d.CSV):
		return adoption(live, wanted.GetOwnerReferences()), nil
	}
	wanted.SetOwnerReferences(live.GetOwnerReferences()) // other owners stay
	for _, step := range applyIfDiffers(wanted, live) {
		return &step, nil
	}
	return nil, nil
}

// adoption adopts the OperatorCondition of a deleted ClusterServiceVersion of the same name, before
// garbage collection deletes it. It is an update: an apply does not remove what a creation wrote.
func adoption(live *unstructured.Unstructured, owners []metav1.OwnerReference) *rollout.Step {
	adopted := live.DeepCopy()
	adopted.SetOwnerReferences(owners)
	adopted.SetManagedFields(nil) // a cache does not keep all of them; without any, they stay
	return &rollout.Step{Verb: rollout.Update, Object: adopted, Live: live, Drift: drift.Drift{Fields: []string{"metadata.ownerReferences"}}}
}
