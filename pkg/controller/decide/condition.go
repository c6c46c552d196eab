package decide

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

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
		return &rollout.Step{Verb: rollout.Create, Object: wanted, Desired: wanted}, nil
	case !csvspec.OwnedBy(live, d.CSV):
		return adoption(live, d.CSV), nil
	}
	wanted.SetOwnerReferences(live.GetOwnerReferences()) // other owners stay
	for _, step := range applyIfDiffers(wanted, live) {
		return &step, nil
	}
	return nil, nil
}

// adoption adopts the OperatorCondition that a deleted ClusterServiceVersion of the same name, or OLM v0,
// has left. It sets the owner reference, without which garbage collection deletes the object, and the
// labels. It is an update: an apply does not remove what a creation wrote.
func adoption(live *unstructured.Unstructured, csv *operatorsv1alpha1.ClusterServiceVersion) *rollout.Step {
	adopted := live.DeepCopy()
	csvspec.SetOwner(adopted, csv)
	adopted.SetManagedFields(nil) // a cache does not keep all of them; without any, they stay
	metadata := &unstructured.Unstructured{Object: map[string]any{}}
	metadata.SetGroupVersionKind(live.GroupVersionKind())
	metadata.SetNamespace(adopted.GetNamespace())
	metadata.SetName(adopted.GetName())
	metadata.SetLabels(adopted.GetLabels())
	metadata.SetOwnerReferences(adopted.GetOwnerReferences())
	return &rollout.Step{Verb: rollout.Update, Object: adopted, Live: live, Drift: drift.Drift{Fields: []string{"metadata"}}, Desired: metadata}
}
