package decide

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/undecodable"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// conditionStep keeps what the operator and administrators have written.
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
		return adoptCondition(live, d.CSV), nil
	}
	wanted.SetOwnerReferences(live.GetOwnerReferences()) // other owners stay
	for _, step := range applyIfDiffers(wanted, live) {
		return &step, nil
	}
	return nil, nil
}

// mirrorStep copies conditions from spec to status, as OLM v0 does.
func (d *decision) mirrorStep(plan rollout.Plan) (*rollout.Step, error) {
	live := d.Condition.Live
	if live == nil {
		return nil, nil
	}
	key := drift.KeyOf(live)
	rewritten := slices.ContainsFunc(plan.Steps, func(step rollout.Step) bool { return step.Key() == key })
	if rewritten || d.carriedOut(key) {
		return nil, nil
	}
	condition, err := TypedCondition(live)
	if err != nil {
		return nil, err
	}
	conditions, differ := lineage.Mirrored(condition)
	if !differ {
		return nil, nil
	}
	mirrored := live.DeepCopy()
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&operatorsv2.OperatorConditionStatus{Conditions: conditions})
	if err != nil {
		return nil, err
	}
	mirrored.Object["status"] = all
	return &rollout.Step{Verb: rollout.Patch, Object: mirrored, Live: live, Drift: drift.Drift{Fields: []string{"status.conditions"}}}, nil
}

// TypedCondition returns an OperatorCondition in its type; nil for none. It leaves out what the type does not decode, such as a time that
// only the API server accepts: the operator writes the object, and must not stop the manager.
func TypedCondition(live *unstructured.Unstructured) (*operatorsv2.OperatorCondition, error) {
	if live == nil {
		return nil, nil
	}
	condition, content := &operatorsv2.OperatorCondition{}, live.DeepCopy().Object
	undecodable.Remove(content, reflect.TypeFor[operatorsv2.OperatorCondition]())
	return condition, runtime.DefaultUnstructuredConverter.FromUnstructured(content, condition)
}

// adoptCondition sets owner and labels by an update: an apply does not remove what a creation wrote.
func adoptCondition(live *unstructured.Unstructured, csv *operatorsv1alpha1.ClusterServiceVersion) *rollout.Step {
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
